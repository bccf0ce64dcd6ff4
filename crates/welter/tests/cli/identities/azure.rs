//! Azure: applications, identities of workloads and machines, and what an account shares itself.

use welter_testing::bucket::{ACCOUNT, CLIENT, PROOF, SHARED, TENANT, account_key};

use super::Cloud;

fn cloud() -> Cloud {
    let cloud = Cloud::new("az://box", false);
    let store = format!("{}/{ACCOUNT}", cloud.server.url());
    cloud.with([("AZURE_STORAGE_ENDPOINT", store), ("AZURE_STORAGE_ACCOUNT", ACCOUNT.to_owned())])
}

/// An application that is asked about at the services.
fn application() -> Cloud {
    let cloud = cloud();
    // Kubernetes names it with a slash at its end.
    let authority = format!("{}/", cloud.services.url());
    cloud.with([
        ("AZURE_CLIENT_ID", CLIENT.to_owned()),
        ("AZURE_TENANT_ID", TENANT.to_owned()),
        ("AZURE_AUTHORITY_HOST", authority),
    ])
}

fn is_of_tenant(requests: &[String]) -> bool {
    let expected = format!("POST /{TENANT}/oauth2/v2.0/token");
    !requests.is_empty() && requests.iter().all(|request| *request == expected)
}

#[test]
fn an_application_has_a_token_by_its_secret() {
    let cloud = application().with([("AZURE_CLIENT_SECRET", PROOF.to_owned())]);
    let requests = cloud.hands_out();
    assert!(is_of_tenant(&requests), "{requests:?}");
}

#[test]
fn a_workload_has_a_token_by_a_federated_one() {
    let cloud = application();
    let file = cloud.secret_file("token", PROOF);
    let requests = cloud.with([("AZURE_FEDERATED_TOKEN_FILE", file)]).hands_out();
    assert!(is_of_tenant(&requests), "{requests:?}");
}

#[test]
fn an_application_that_has_no_token_is_told_why() {
    let line = "run wcc BOX/e.tsv -q";
    let message = "(the identity service answered 401 Unauthorized invalid_client)";
    let cloud = application().with([("AZURE_CLIENT_SECRET", "other".to_owned())]);
    cloud.refuses(line, 74, message);
    let cloud = application();
    let none = cloud.path("none");
    let cloud = cloud.with([("AZURE_FEDERATED_TOKEN_FILE", none)]);
    cloud.refuses(line, 74, "(the file with the token for the identity service cannot be read");
    // A store that is asked by https has no authority that is not.
    let store = ("AZURE_STORAGE_ENDPOINT", "https://127.0.0.1:1/me".to_owned());
    let cloud = application().with([("AZURE_CLIENT_SECRET", PROOF.to_owned()), store]);
    let message = "(the identity service has a plain http:// address, to which no secret is sent)";
    cloud.refuses(line, 74, message);
    assert!(cloud.services.take_requests().is_empty());
}

#[test]
fn a_machine_has_an_identity() {
    let cloud = cloud();
    let address = format!("{}/metadata/identity/oauth2/token", cloud.services.url());
    let cloud =
        cloud.with([("AZURE_MSI_ENDPOINT", address), ("AZURE_CLIENT_ID", CLIENT.to_owned())]);
    let requests = cloud.hands_out();
    assert!(requests[0].contains(&format!("client_id={CLIENT}")), "{requests:?}");
    // A machine has no token of an identity that is not its own.
    let cloud = cloud.with([("AZURE_CLIENT_ID", TENANT.to_owned())]);
    let message = "(the identity service answered 400 Bad Request invalid_request)";
    cloud.refuses("run wcc BOX/e.tsv -q", 74, message);
}

#[test]
fn a_machine_has_an_identity_at_the_address_of_its_metadata() {
    let cloud = cloud();
    let proxy = cloud.services.url();
    let cloud = cloud.with([("HTTP_PROXY", proxy)]);
    cloud.is_let_in();
    let requests = cloud.services.take_requests();
    let begin = "GET http://169.254.169.254/metadata/identity/oauth2/token?";
    assert!(requests[0].starts_with(begin), "{requests:?}");
}

#[test]
fn an_application_of_app_service_has_an_identity() {
    let cloud = cloud();
    let address = format!("{}/msi/token", cloud.services.url());
    let cloud = cloud.with([("IDENTITY_ENDPOINT", address), ("IDENTITY_HEADER", PROOF.to_owned())]);
    let requests = cloud.hands_out();
    assert!(requests[0].starts_with("GET /msi/token?"), "{requests:?}");
    let cloud = cloud.with([("IDENTITY_HEADER", format!("{PROOF}\n"))]);
    cloud.refuses("run wcc BOX/e.tsv -q", 2, "IDENTITY_HEADER holds a character");
}

#[test]
fn keys_signatures_and_tokens_of_an_account_are_taken() {
    cloud().with([("AZURE_STORAGE_KEY", account_key())]).is_let_in();
    cloud().with([("AZURE_STORAGE_SAS_TOKEN", SHARED.to_owned())]).is_let_in();
    let cloud = cloud();
    let token = cloud.issued.token();
    cloud.with([("AZURE_STORAGE_TOKEN", token)]).is_let_in();
}

#[test]
fn keys_signatures_and_tokens_of_others_are_refused() {
    let key = "T3RoZXIga2V5IG9mIHRoZSBhY2NvdW50OiAgIG1lISE=";
    let shared = SHARED.replace("shared", "other");
    for (name, value, status) in [
        ("AZURE_STORAGE_KEY", key, "403 Forbidden AuthenticationFailed"),
        ("AZURE_STORAGE_SAS_TOKEN", shared.as_str(), "403 Forbidden AccessDenied"),
        ("AZURE_STORAGE_TOKEN", "other", "401 Unauthorized InvalidAuthenticationInfo"),
    ] {
        let cloud = cloud().with([(name, value.to_owned())]);
        let message = format!("access is denied (the server answered {status})");
        cloud.refuses("run wcc BOX/e.tsv -q", 74, &message);
    }
}
