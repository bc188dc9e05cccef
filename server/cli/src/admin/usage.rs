//! `trefoil admin usage`: the uses of a tenant's API keys by day.

use super::service::Service;
use super::show;
use super::table::table;
use crate::pages;
use trefoil_api::{DayOfUse, Hex};
use trefoil_client::{Admin, ClientError};
use trefoil_service::time;

/// Asks the service, as JSON or for people.
pub(super) fn answer(service: &Service, tenant: Hex<16>, json: bool) -> Result<String, String> {
    let all = service.call(async |admin| all_days(admin, tenant).await)?;
    show(json, &all, || text(&all))
}

async fn all_days(admin: &Admin, tenant: Hex<16>) -> Result<Vec<DayOfUse>, ClientError> {
    let page = async |from| admin.usage(tenant, from).await.map(|page| (page.usage, page.next));
    pages::all("the usage of a tenant", Hex([0; 8]), page).await
}

fn text(all: &[DayOfUse]) -> String {
    let row = |day: &DayOfUse| {
        let DayOfUse { api_key, day, matched, not_matched, enrolments, refusals } = day;
        let date = time::format(*day).chars().take_while(|c| *c != 'T').collect();
        let counts = [matched, not_matched, enrolments, refusals].map(u64::to_string);
        let [matched, not_matched, enrolments, refusals] = counts;
        [hex::encode(api_key.0), date, matched, not_matched, enrolments, refusals]
    };
    table(["API KEY", "DAY", "MATCHED", "NOT MATCHED", "ENROLLED", "REFUSED"], all.iter().map(row))
}
