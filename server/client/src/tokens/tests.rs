use super::*;
use std::cell::Cell;
use std::future::{pending, ready};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

type Exchanged = Result<AccessToken, ClientError>;

fn tokens() -> Tokens {
    let basic = HeaderValue::from_static("Basic any");
    Tokens::new(Exchange::new(basic, None).unwrap())
}

/// The answer of a service, with a token of ten minutes.
fn given(text: &str) -> Exchanged {
    let token = format!(
        r#"{{"access_token":"{text}","token_type":"Bearer","expires_in":600,"scope":"enrol authenticate"}}"#
    );
    AccessToken::read(token.as_bytes())
}

fn away() -> Exchanged {
    Err(ClientError::Status { route: ROUTE.to_owned(), status: 503 })
}

/// What a request that begins at this time sends.
async fn sent(
    tokens: &Tokens,
    now: Instant,
    exchange: impl Future<Output = Exchanged>,
) -> Result<String, ClientError> {
    tokens.bearer(now, exchange).await.map(|bearer| bearer.to_str().unwrap().to_owned())
}

/// What it sends without an exchange.
async fn kept(tokens: &Tokens, now: Instant) -> String {
    sent(tokens, now, async { panic!("there is a token") }).await.unwrap()
}

fn at(begun: Instant, seconds: u64) -> Instant {
    begun + Duration::from_secs(seconds)
}

/// Runs a future as far as it comes.
fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[tokio::test]
async fn tasks_that_begin_together_get_one_token() {
    let (tokens, now, exchanges) = (tokens(), Instant::now(), Cell::new(0));
    let ask = || {
        sent(&tokens, now, async {
            exchanges.set(exchanges.get() + 1);
            tokio::task::yield_now().await;
            given("one")
        })
    };
    let sent = tokio::join!(ask(), ask(), ask());
    for sent in [sent.0, sent.1, sent.2] {
        assert_eq!(sent.unwrap(), "Bearer one");
    }
    assert_eq!(exchanges.get(), 1);
}

#[tokio::test]
async fn a_token_is_replaced_in_the_last_fifth_of_its_life_and_serves_the_others_until_then() {
    let (tokens, begun) = (tokens(), Instant::now());
    assert_eq!(sent(&tokens, begun, ready(given("one"))).await.unwrap(), "Bearer one");
    assert_eq!(kept(&tokens, at(begun, 479)).await, "Bearer one");
    {
        // One task waits for the next token, another does not.
        let mut renewing = pin!(sent(&tokens, at(begun, 480), pending()));
        assert!(poll(renewing.as_mut()).is_pending());
        assert_eq!(kept(&tokens, at(begun, 481)).await, "Bearer one");
        // After the end of the token everyone waits.
        let mut late = pin!(sent(&tokens, at(begun, 600), ready(given("three"))));
        assert!(poll(late.as_mut()).is_pending());
    }
    // Both were dropped, so another task may exchange the key.
    assert_eq!(sent(&tokens, at(begun, 482), ready(given("two"))).await.unwrap(), "Bearer two");
    assert_eq!(kept(&tokens, at(begun, 482 + 479)).await, "Bearer two");
}

#[tokio::test]
async fn a_renewal_that_fails_is_repeated_later_while_the_token_is_valid() {
    let (tokens, begun) = (tokens(), Instant::now());
    sent(&tokens, begun, ready(given("one"))).await.unwrap();
    assert_eq!(sent(&tokens, at(begun, 500), ready(away())).await.unwrap(), "Bearer one");
    assert_eq!(kept(&tokens, at(begun, 509)).await, "Bearer one");
    assert_eq!(sent(&tokens, at(begun, 595), ready(away())).await.unwrap(), "Bearer one");
    assert_eq!(kept(&tokens, at(begun, 599)).await, "Bearer one");
    // It is over, and what is said is why there is no other one.
    let refused = sent(&tokens, at(begun, 600), ready(away())).await;
    assert!(matches!(refused, Err(ClientError::Status { status: 503, .. })), "{refused:?}");
    assert_eq!(sent(&tokens, at(begun, 601), ready(given("two"))).await.unwrap(), "Bearer two");
}

#[tokio::test]
async fn tasks_that_wait_for_an_exchange_that_fails_get_its_error() {
    let (tokens, now) = (tokens(), Instant::now());
    let first = sent(&tokens, now, async {
        tokio::task::yield_now().await;
        away()
    });
    let ask = || sent(&tokens, now, async { panic!("they do not ask, too") });
    let (first, second, third) = tokio::join!(first, ask(), ask());
    for refused in [first, second, third] {
        assert!(matches!(refused, Err(ClientError::Status { status: 503, .. })), "{refused:?}");
    }
    // One that begins later asks again.
    let sent = sent(&tokens, Instant::now() + Duration::from_secs(1), ready(given("one"))).await;
    assert_eq!(sent.unwrap(), "Bearer one");
}

#[tokio::test]
async fn a_refused_token_is_forgotten_and_none_that_came_after_it() {
    let (tokens, now) = (tokens(), Instant::now());
    let one = tokens.bearer(now, ready(given("one"))).await.unwrap();
    tokens.forget(&one);
    assert_eq!(sent(&tokens, now, ready(given("two"))).await.unwrap(), "Bearer two");
    tokens.forget(&one);
    assert_eq!(kept(&tokens, now).await, "Bearer two");
    // A renewal that fails does not bring a forgotten token back.
    let due = at(now, 500);
    let sent_meanwhile = sent(&tokens, due, async {
        tokens.forget(&credential::bearer("two").unwrap());
        away()
    });
    assert_eq!(sent_meanwhile.await.unwrap(), "Bearer two");
    assert_eq!(sent(&tokens, due, ready(given("three"))).await.unwrap(), "Bearer three");
}

#[test]
fn a_token_has_its_scopes_and_shows_no_secret() {
    let token = given("trefoil_access_x").unwrap();
    assert_eq!(token.scopes(), [Scope::Enrol, Scope::Authenticate]);
    assert_eq!((token.text(), token.valid_for()), ("trefoil_access_x", Duration::from_secs(600)));
    let shown = format!("{token:?}");
    assert!(shown.contains("Enrol") && !shown.contains("trefoil_access"), "{shown}");
    let body = |kind: &str, seconds: u64| {
        format!(r#"{{"access_token":"x","token_type":"{kind}","expires_in":{seconds},"scope":""}}"#)
    };
    assert!(AccessToken::read(body("mac", 1).as_bytes()).is_err());
    let endless = AccessToken::read(body("bearer", u64::MAX).as_bytes()).unwrap();
    assert_eq!(endless.valid_for(), LIFE_MAX);
}

#[test]
fn a_form_names_the_grant_and_the_scopes() {
    let form = |scopes: Option<&[Scope]>| {
        Exchange::new(HeaderValue::from_static("Basic any"), scopes).map(|exchange| exchange.form)
    };
    assert_eq!(form(None).unwrap(), "grant_type=client_credentials");
    let some = form(Some(&[Scope::Authenticate, Scope::Issue])).unwrap();
    assert_eq!(some, "grant_type=client_credentials&scope=authenticate+issue");
    assert!(form(Some(&[])).unwrap_err().to_string().contains("at least one scope"));
}

#[test]
fn a_refusal_is_told_with_the_code_of_oauth() {
    let told = |body: &str, header: Option<&'static str>| {
        let mut response = hyper::Response::builder().status(400);
        if let Some(id) = header {
            response = response.header("request-id", id);
        }
        let (head, ()) = response.body(()).unwrap().into_parts();
        Exchange::refused(&head, body.as_bytes())
    };
    let oauth = r#"{"error":"invalid_scope","error_description":"ask for some of them"}"#;
    let refused = told(oauth, Some("0011"));
    assert_eq!(refused.code(), Some("invalid_scope"));
    assert_eq!(refused.to_string(), "the service answered 400 invalid_scope: ask for some of them");
    let ClientError::Problem(problem) = refused else { panic!("{refused}") };
    assert_eq!((problem.status, problem.request_id.as_str()), (400, "0011"));
    let problem = r#"{"type":"t","title":"t","status":503,"code":"draining","detail":"d"}"#;
    assert_eq!(told(problem, None).code(), Some("draining"));
    assert!(matches!(told("<html>", None), ClientError::Status { status: 400, .. }));
}
