//! The routes: path, method and handler of each, with its text in the API's description.

mod admin;
mod public;
pub(super) mod table;

pub(crate) use admin::routes as admin;
pub(crate) use public::routes as public;

/// The description of both routes of usage.
const USAGE: &str = "Logins decided, subjects enrolled and requests refused, by API key and day (UTC), for 31 days. The newest counts arrive within \
                     two seconds; a crash loses those that did not.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::Operation;
    use crate::problem::Code;
    use std::collections::BTreeSet;

    fn both() -> Vec<Operation> {
        [public(), admin()].into_iter().flat_map(|routes| routes.operations).collect()
    }

    #[test]
    fn every_route_has_a_description_an_example_of_each_body_and_an_error_response() {
        for Operation { path, id, summary, description, parameters, request, answer, codes, .. } in both() {
            assert!(
                summary.ends_with('.') && description.ends_with('.'),
                "{id}: {summary:?} {description:?}"
            );
            // The last two are problems that any route may answer with.
            assert!(codes.len() >= 2, "{id}");
            for parameter in &parameters {
                assert!(
                    !parameter.about.is_empty() && !parameter.example.is_null(),
                    "{id}: {}",
                    parameter.name
                );
            }
            let named = path.split('{').skip(1).map(|rest| rest.split('}').next().unwrap());
            for name in named {
                let name = name.trim_start_matches('*');
                assert!(parameters.iter().any(|parameter| parameter.name == name), "{path}: {name}");
            }
            for body in request.iter().chain(&answer) {
                let is_binary = ["application/octet-stream", "application/cbor"].contains(&body.media_type);
                assert!(
                    !body.about.is_empty() && body.example.is_some() != is_binary,
                    "{id}: {}",
                    body.media_type
                );
            }
        }
    }

    #[test]
    fn every_problem_is_one_of_some_route() {
        let told: BTreeSet<&str> =
            both().iter().flat_map(|operation| &operation.codes).map(|code| code.name()).collect();
        let nowhere: Vec<&str> =
            Code::ALL.iter().map(|code| code.name()).filter(|name| !told.contains(name)).collect();
        // A problem of the listener and not of a route.
        assert_eq!(nowhere, ["method-not-allowed"]);
    }

    #[test]
    fn names_of_operations_are_unique_and_references_lead_somewhere() {
        for routes in [public(), admin()] {
            let mut ids = BTreeSet::new();
            for operation in &routes.operations {
                assert!(ids.insert(operation.id), "{}", operation.id);
            }
        }
        for document in [public().document(), admin().document()] {
            let text = document.to_string();
            for target in text.split("\"$ref\":\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
                assert!(document.pointer(target).is_some(), "{target}");
            }
        }
    }
}
