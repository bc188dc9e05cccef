//! Lists that a service answers page by page.

use trefoil_client::ClientError;

/// All entries of a list from `first` on. `page` has the entries from a place on, and where the next page begins. A page that does not
/// advance would be asked for without end, so it is refused.
pub(super) async fn all<K: Copy + PartialOrd, T>(
    list: &str,
    first: K,
    page: impl AsyncFn(K) -> Result<(Vec<T>, Option<K>), ClientError>,
) -> Result<Vec<T>, ClientError> {
    let (mut all, mut next) = (Vec::new(), Some(first));
    while let Some(from) = next {
        let (entries, following) = page(from).await?;
        if following.is_some_and(|following| following <= from) {
            let cause = "a page of the list is followed by one that does not come after it".to_owned();
            return Err(ClientError::Answer { route: list.to_owned(), cause });
        }
        all.extend(entries);
        next = following;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// The list of `next`, whose pages have one entry each: its place.
    async fn list(next: impl Fn(u32) -> Option<u32>) -> (Result<Vec<u32>, ClientError>, u32) {
        let asked = Cell::new(0);
        let all = all("the things", 0, async |from| {
            asked.set(asked.get() + 1);
            assert!(asked.get() < 9, "asks without end");
            Ok((vec![from], next(from)))
        });
        (all.await, asked.get())
    }

    #[tokio::test]
    async fn a_list_ends_and_a_page_that_does_not_advance_is_refused() {
        let (whole, asked) = list(|from| (from < 3).then_some(from + 1)).await;
        assert_eq!((whole.unwrap(), asked), (vec![0, 1, 2, 3], 4));
        for stuck in [|_| Some(0), |from: u32| Some(if from == 0 { 5 } else { 4 })] {
            let (refused, asked) = list(stuck).await;
            let said = refused.unwrap_err().to_string();
            assert!(said.contains("the things") && said.contains("does not come after it"), "{said}");
            assert!(asked <= 2);
        }
    }
}
