//! Amazon: roles of web identities, containers and instances, and keys that last for a while.

use welter_testing::bucket::{PROOF, ROLE, TemporaryKey};

use super::Cloud;

fn cloud(is_encrypted: bool) -> Cloud {
    let cloud = Cloud::new("s3://box", is_encrypted);
    let store = cloud.server.url();
    cloud.with([("AWS_ENDPOINT_URL", store), ("AWS_REGION", "nowhere-1".to_owned())])
}

/// A web identity, with this token.
fn web_identity(is_encrypted: bool, token: &str) -> Cloud {
    let cloud = cloud(is_encrypted);
    let token = cloud.secret_file("token", token);
    let (authority, services) = (cloud.authority(), cloud.services.url());
    cloud.with([
        ("AWS_WEB_IDENTITY_TOKEN_FILE", token),
        ("AWS_ROLE_ARN", ROLE.to_owned()),
        ("AWS_ENDPOINT_URL_STS", services),
        ("AWS_CA_BUNDLE", authority),
    ])
}

#[test]
fn a_web_identity_takes_a_role() {
    let requests = web_identity(true, PROOF).hands_out();
    let begin = "POST /?Action=AssumeRoleWithWebIdentity&";
    assert!(
        !requests.is_empty() && requests.iter().all(|it| it.starts_with(begin)),
        "{requests:?}"
    );
}

#[test]
fn a_web_identity_that_takes_no_role_is_told_why() {
    let line = "run wcc BOX/e.tsv -q";
    let message = "(the identity service answered 403 Forbidden AccessDenied)";
    web_identity(true, "other").refuses(line, 74, message);
    let message = "(the identity service has a plain http:// address, to which no secret is sent)";
    let plain = web_identity(false, PROOF);
    plain.refuses(line, 74, message);
    assert!(plain.services.take_requests().is_empty());
    let cloud = web_identity(true, PROOF);
    let none = cloud.path("none");
    let cloud = cloud.with([("AWS_WEB_IDENTITY_TOKEN_FILE", none)]);
    cloud.refuses(line, 74, "(the file with the token for the identity service cannot be read");
    // Nothing listens there any more.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let cloud =
        web_identity(true, PROOF).with([("AWS_ENDPOINT_URL_STS", format!("https://{gone}"))]);
    cloud.refuses(line, 74, "(the identity service cannot be reached, also when");
}

/// A container whose service wants to see a token.
fn container() -> Cloud {
    let cloud = cloud(false);
    let address = format!("{}/role", cloud.services.url());
    cloud.with([("AWS_CONTAINER_CREDENTIALS_FULL_URI", address)])
}

#[test]
fn a_container_has_a_role_by_a_token() {
    let cloud = container().with([("AWS_CONTAINER_AUTHORIZATION_TOKEN", PROOF.to_owned())]);
    let requests = cloud.hands_out();
    assert!(requests.iter().all(|it| it == "GET /role") && !requests.is_empty(), "{requests:?}");
}

#[test]
fn a_container_has_a_role_by_a_token_in_a_file() {
    let cloud = container();
    // Files that editors write end with the end of a line.
    let file = cloud.secret_file("token", &format!("{PROOF}\n"));
    cloud.with([("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file)]).hands_out();
}

#[test]
fn a_container_has_a_role_at_the_address_of_its_service() {
    let cloud = cloud(false);
    let proxy = cloud.services.url();
    let path = "/task".to_owned();
    let cloud =
        cloud.with([("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", path), ("HTTP_PROXY", proxy)]);
    let requests = cloud.hands_out();
    assert_eq!(requests[0], "GET http://169.254.170.2/task");
}

#[test]
fn a_container_without_its_token_has_no_role() {
    let line = "run wcc BOX/e.tsv -q";
    let message = "(the identity service answered 401 Unauthorized access_denied)";
    container().refuses(line, 74, message);
    for text in ["", "two words"] {
        let cloud = container();
        let file = cloud.secret_file("token", text);
        let cloud = cloud.with([("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file)]);
        cloud.refuses(line, 74, "(the file with the token for the identity service cannot be read");
        assert!(cloud.services.take_requests().is_empty());
    }
    let far = "http://far.example/role".to_owned();
    let cloud = container().with([("AWS_CONTAINER_CREDENTIALS_FULL_URI", far)]);
    let message = "AWS_CONTAINER_CREDENTIALS_FULL_URI holds no address that keys come from";
    cloud.refuses(line, 2, message);
}

#[test]
fn an_instance_has_a_role() {
    let cloud = cloud(false);
    let address = format!("{}/", cloud.services.url());
    let requests = cloud.with([("AWS_EC2_METADATA_SERVICE_ENDPOINT", address)]).hands_out();
    let roles = "GET /latest/meta-data/iam/security-credentials/";
    assert_eq!(requests[..3], ["PUT /latest/api/token", roles, &format!("{roles}reader")]);
}

#[test]
fn an_instance_has_a_role_at_the_address_of_its_metadata() {
    let cloud = cloud(false);
    let proxy = cloud.services.url();
    let cloud = cloud.with([("HTTP_PROXY", proxy)]);
    cloud.is_let_in();
    let requests = cloud.services.take_requests();
    assert_eq!(requests[0], "PUT http://169.254.169.254/latest/api/token");
    let cloud = cloud.with([("AWS_EC2_METADATA_DISABLED", "true".to_owned())]);
    cloud.refuses("run wcc BOX/e.tsv -q", 2, "the environment does not say who you are");
    assert!(cloud.services.take_requests().is_empty());
}

#[test]
fn keys_with_a_token_are_taken_from_variables_files_and_programs() {
    let cloud = cloud(false);
    let TemporaryKey { id, secret, token } = cloud.issued.key();
    let cloud = cloud.with([
        ("AWS_ACCESS_KEY_ID", id),
        ("AWS_SECRET_ACCESS_KEY", secret),
        ("AWS_SESSION_TOKEN", token),
    ]);
    cloud.is_let_in();

    let cloud = self::cloud(false);
    let TemporaryKey { id, secret, token } = cloud.issued.key();
    let file = cloud.secret_file(
        "credentials",
        &format!(
            "[work]\naws_access_key_id = {id}\naws_secret_access_key = {secret}\n\
             aws_session_token = {token}\n"
        ),
    );
    let profile = ("AWS_PROFILE", "work".to_owned());
    cloud.with([("AWS_SHARED_CREDENTIALS_FILE", file), profile.clone()]).is_let_in();

    let cloud = self::cloud(false);
    let TemporaryKey { id, secret, token } = cloud.issued.key();
    let keys = format!(r#""AccessKeyId":"{id}","SecretAccessKey":"{secret}""#);
    let keys = format!(r#"{{"Version":1,{keys},"SessionToken":"{token}"}}"#);
    let keys = cloud.secret_file("keys", &keys);
    let text = format!("[profile work]\ncredential_process = cat '{keys}'\n");
    let file = cloud.secret_file("config", &text);
    cloud.with([("AWS_CONFIG_FILE", file), profile]).is_let_in();
}

#[test]
fn keys_without_their_token_are_refused() {
    let cloud = cloud(false);
    let TemporaryKey { id, secret, .. } = cloud.issued.key();
    let cloud = cloud.with([("AWS_ACCESS_KEY_ID", id), ("AWS_SECRET_ACCESS_KEY", secret)]);
    let message = "access is denied (the server answered 400 Bad Request InvalidToken)";
    cloud.refuses("run wcc BOX/e.tsv -q", 74, message);
}

#[test]
fn values_that_no_request_can_bear_are_named() {
    for (name, value, message) in [
        ("AWS_SESSION_TOKEN", "TopSecret\n", "holds a character that no request can bear"),
        ("AWS_REGION", "<region>", "holds a character that no request can bear"),
        ("AWS_ENDPOINT_URL", "127.0.0.1:9000", "holds no address of a server"),
        ("AWS_ENDPOINT_URL_STS", "sts", "holds no address of a server"),
    ] {
        let cloud = cloud(false).with([(name, value.to_owned())]);
        cloud.refuses("run wcc BOX/e.tsv -q", 2, &format!("{name} {message}"));
        assert!(cloud.server.take_requests().is_empty());
    }
}
