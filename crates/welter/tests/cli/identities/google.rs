//! Google: service accounts, users and machines.

use welter_testing::bucket::{account_file, user_file};

use super::{Cloud, write_below};

fn cloud() -> Cloud {
    let cloud = Cloud::new("gs://box", false);
    let store = cloud.server.url();
    cloud.with([("GOOGLE_BASE_URL", store)])
}

#[test]
fn a_service_account_signs_its_tokens_itself() {
    for name in ["GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT"] {
        let cloud = cloud();
        let file = cloud.secret_file("account.json", &account_file());
        let cloud = cloud.with([(name, file)]);
        cloud.is_let_in();
        assert!(cloud.services.take_requests().is_empty());
    }
    cloud().with([("GOOGLE_SERVICE_ACCOUNT_KEY", account_file())]).is_let_in();
}

#[test]
fn a_service_account_of_another_name_is_refused() {
    let cloud = cloud();
    let text = account_file().replace("reader@", "other@");
    let file = cloud.secret_file("account.json", &text);
    let cloud = cloud.with([("GOOGLE_APPLICATION_CREDENTIALS", file)]);
    let message = "access is denied (the server answered 401 Unauthorized";
    cloud.refuses("run wcc BOX/e.tsv -q", 74, message);
}

#[test]
fn files_of_no_account_are_named() {
    let begin = "the credentials of Google that the environment names, or that gcloud left, are";
    let unread = "the file of credentials that GOOGLE_APPLICATION_CREDENTIALS or";
    for (text, message) in [
        (Some(r#"{"type":"external_account","audience":"TopSecret"}"#), begin),
        (Some("TopSecret"), begin),
        (None, unread),
    ] {
        let cloud = cloud();
        let file =
            text.map_or_else(|| cloud.path("none"), |text| cloud.secret_file("account.json", text));
        let cloud = cloud.with([("GOOGLE_APPLICATION_CREDENTIALS", file)]);
        cloud.refuses("run wcc BOX/e.tsv -q", 2, message);
        assert!(cloud.server.take_requests().is_empty());
    }
    let token = ("GOOGLE_BEARER_TOKEN", "TopSecret\n".to_owned());
    cloud().with([token]).refuses("run wcc BOX/e.tsv -q", 2, "GOOGLE_BEARER_TOKEN holds");
}

/// A user, whose tokens come from a host that no variable names: through a proxy.
fn user() -> Cloud {
    let cloud = cloud();
    let (proxy, authority) = (cloud.services.url(), cloud.authority());
    cloud.with([("HTTPS_PROXY", proxy), ("AWS_CA_BUNDLE", authority)])
}

#[test]
fn a_user_has_tokens_by_the_file_that_gcloud_leaves() {
    let cloud = user();
    let folder = cloud.sandbox.path().join("secret-home/.config/gcloud");
    write_below(&folder, "application_default_credentials.json", &user_file());
    let requests = cloud.hands_out();
    assert_eq!(requests[..2], ["CONNECT accounts.google.com:443", "POST /o/oauth2/token"]);
}

#[test]
fn a_user_has_tokens_by_a_file_that_is_named() {
    let cloud = user();
    let file = cloud.secret_file("user.json", &user_file());
    let cloud = cloud.with([("GOOGLE_APPLICATION_CREDENTIALS", file)]);
    cloud.is_let_in();
    let other = user_file().replace("TopSecretProof", "TopSecretOther");
    cloud.secret_file("user.json", &other);
    let message = "(the identity service answered 400 Bad Request invalid_grant)";
    cloud.refuses("run wcc BOX/e.tsv -q", 74, message);
}

#[test]
fn a_machine_has_an_account() {
    let cloud = cloud();
    let host = cloud.services.host();
    let cloud = cloud.with([("GCE_METADATA_HOST", host.clone()), ("GCE_METADATA_IP", host)]);
    let requests = cloud.hands_out();
    let begin = "GET /computeMetadata/v1/instance/service-accounts/default/token";
    assert!(requests[0].starts_with(begin), "{requests:?}");
}

#[test]
fn a_machine_has_an_account_at_the_host_of_its_metadata() {
    let cloud = cloud();
    let proxy = cloud.services.url();
    let cloud = cloud.with([("HTTP_PROXY", proxy)]);
    cloud.is_let_in();
    let requests = cloud.services.take_requests();
    let begin = "GET http://metadata.google.internal/computeMetadata/v1/";
    assert!(requests[0].starts_with(begin), "{requests:?}");
}
