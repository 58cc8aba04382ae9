use super::judge;

#[track_caller]
fn check(tree: &str, expected: &[&str]) {
    let found: Vec<String> = judge("pi-agent", tree)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_tree_without_a_runtime_is_accepted() {
    check(
        "0\tpi-agent v0.1.0 (/somewhere/pi-agent)\t\n\
         1\ttokio-util v0.7.16\tdefault\n\
         2\ttokio v1.48.0\tdefault,sync\n\
         1\thyperlocal v1.0.0\trt,net\n",
        &[],
    );
}

#[test]
fn a_runtime_feature_is_reported_with_the_way_to_tokio() {
    check(
        "0\tpi-agent v0.1.0 (/somewhere/pi-agent)\t\n\
         1\tpi-agent-loop v0.1.0 (/somewhere/pi-agent-loop)\tvalidation\n\
         2\ttokio-util v0.7.16\trt\n\
         3\ttokio v1.48.0\tdefault,rt,sync,time\n\
         1\ttokio v1.48.0\tdefault,rt,sync,time (*)\n",
        &[
            "pi-agent: must not turn on tokio/rt; tokio comes in through \
             pi-agent -> pi-agent-loop -> tokio-util -> tokio",
            "pi-agent: must not turn on tokio/time; tokio comes in through \
             pi-agent -> pi-agent-loop -> tokio-util -> tokio",
            "pi-agent: must not turn on tokio/rt; tokio comes in through pi-agent -> tokio",
            "pi-agent: must not turn on tokio/time; tokio comes in through pi-agent -> tokio",
        ],
    );
}

#[test]
fn an_http_client_is_reported_after_a_deeper_neighbour() {
    check(
        "0\tpi-agent v0.1.0 (/somewhere/pi-agent)\t\n\
         1\tjsonschema v0.61.0\tresolve-http\n\
         2\treferencing v0.61.0\t\n\
         3\tahash v0.8.12\t\n\
         2\treqwest v0.13.1\tjson\n\
         3\thyper v1.8.0\tclient\n",
        &[
            "pi-agent: must not link reqwest, but does through pi-agent -> jsonschema -> reqwest",
            "pi-agent: must not link hyper, but does through \
             pi-agent -> jsonschema -> reqwest -> hyper",
        ],
    );
}
