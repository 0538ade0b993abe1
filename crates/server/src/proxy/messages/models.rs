//! Converts the upstream's list of models to the form of the Messages API.

use serde_json::{Value, json};
use std::time::{Duration, SystemTime};
use toolfence_agent::transcript::rfc3339;

/// Converts the upstream's answer, which is a list of models or one model. Returns `None` if it is neither.
pub(crate) fn translated(answer: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    let Some(list) = answer.get("data").and_then(Value::as_array) else { return Some(model(&answer)?.to_string()) };
    let models: Vec<Value> = list.iter().filter_map(model).collect();
    let id = |model: Option<&Value>| model.map_or(Value::Null, |model| model["id"].clone());
    let (first, last) = (id(models.first()), id(models.last()));
    Some(json!({"data": models, "has_more": false, "first_id": first, "last_id": last}).to_string())
}

fn model(model: &Value) -> Option<Value> {
    let id = model.get("id")?.as_str()?;
    let created = model.get("created").and_then(Value::as_u64).unwrap_or_default();
    let created = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(created.min(u64::from(u32::MAX))))?;
    Some(json!({"type": "model", "id": id, "display_name": id, "created_at": rfc3339(created)}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_single_models_are_translated() {
        let list =
            translated(br#"{"object":"list","data":[{"id":"a","created":86400},{"x":1},{"id":"b","created":1e300}]}"#);
        let list: Value = serde_json::from_str(&list.unwrap()).unwrap();
        assert_eq!((&list["first_id"], &list["last_id"], &list["has_more"]), (&json!("a"), &json!("b"), &json!(false)));
        assert_eq!((&list["data"][0]["type"], &list["data"][0]["display_name"]), (&json!("model"), &json!("a")));
        assert!(list["data"][0]["created_at"].as_str().unwrap().starts_with("1970-01-02T"), "{list}");
        let one: Value = serde_json::from_str(&translated(br#"{"id":"a","object":"model"}"#).unwrap()).unwrap();
        assert_eq!(one["id"], "a");
        assert_eq!((translated(b"[]"), translated(b"{"), translated(b"7")), (None, None, None));
    }
}
