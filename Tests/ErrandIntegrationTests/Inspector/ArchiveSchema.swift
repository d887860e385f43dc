/// The format HTTP Archive as a JSON Schema.
///
/// It is version 1.2. Names that it does not define begin with an underscore.
enum ArchiveSchema {
    static let text = #"""
        {
          "$schema": "https://json-schema.org/draft/2020-12/schema",
          "$defs": {
            "size": { "type": "integer", "minimum": -1 },
            "time": { "type": "number", "minimum": 0 },
            "optionalTime": { "anyOf": [{ "$ref": "#/$defs/time" }, { "const": -1 }] },
            "pairs": { "type": "array", "items": {
              "type": "object", "required": ["name", "value"], "additionalProperties": false,
              "properties": { "name": { "type": "string", "minLength": 1 }, "value": { "type": "string" }, "comment": { "type": "string" } }
            } },
            "cookies": { "type": "array", "items": {
              "type": "object", "required": ["name", "value"], "additionalProperties": false,
              "properties": {
                "name": { "type": "string" }, "value": { "type": "string" }, "path": { "type": "string" }, "domain": { "type": "string" },
                "expires": { "type": ["string", "null"], "format": "date-time" }, "httpOnly": { "type": "boolean" },
                "secure": { "type": "boolean" }, "comment": { "type": "string" }
              }
            } },
            "tool": {
              "type": "object", "required": ["name", "version"], "additionalProperties": false,
              "properties": { "name": { "type": "string" }, "version": { "type": "string" }, "comment": { "type": "string" } }
            },
            "request": {
              "type": "object", "additionalProperties": false, "patternProperties": { "^_": true },
              "required": ["method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize", "bodySize"],
              "properties": {
                "method": { "type": "string", "minLength": 1 }, "url": { "type": "string", "format": "uri" },
                "httpVersion": { "type": "string" }, "cookies": { "$ref": "#/$defs/cookies" }, "headers": { "$ref": "#/$defs/pairs" },
                "queryString": { "$ref": "#/$defs/pairs" }, "headersSize": { "$ref": "#/$defs/size" },
                "bodySize": { "$ref": "#/$defs/size" }, "comment": { "type": "string" },
                "postData": {
                  "type": "object", "required": ["mimeType"], "additionalProperties": false,
                  "properties": {
                    "mimeType": { "type": "string" }, "text": { "type": "string" }, "params": { "type": "array" },
                    "comment": { "type": "string" }
                  }
                }
              }
            },
            "response": {
              "type": "object", "additionalProperties": false, "patternProperties": { "^_": true },
              "required": [
                "status", "statusText", "httpVersion", "cookies", "headers", "content", "redirectURL", "headersSize", "bodySize"
              ],
              "properties": {
                "status": { "type": "integer", "minimum": 0, "maximum": 999 }, "statusText": { "type": "string" },
                "httpVersion": { "type": "string" }, "cookies": { "$ref": "#/$defs/cookies" }, "headers": { "$ref": "#/$defs/pairs" },
                "redirectURL": { "type": "string" }, "headersSize": { "$ref": "#/$defs/size" },
                "bodySize": { "$ref": "#/$defs/size" }, "comment": { "type": "string" },
                "content": {
                  "type": "object", "required": ["size", "mimeType"], "additionalProperties": false,
                  "properties": {
                    "size": { "$ref": "#/$defs/size" }, "compression": { "type": "integer" }, "mimeType": { "type": "string" },
                    "text": { "type": "string" }, "encoding": { "type": "string" }, "comment": { "type": "string" }
                  }
                }
              }
            },
            "timings": {
              "type": "object", "required": ["send", "wait", "receive"], "additionalProperties": false,
              "properties": {
                "blocked": { "$ref": "#/$defs/optionalTime" }, "dns": { "$ref": "#/$defs/optionalTime" },
                "connect": { "$ref": "#/$defs/optionalTime" }, "ssl": { "$ref": "#/$defs/optionalTime" },
                "send": { "$ref": "#/$defs/time" }, "wait": { "$ref": "#/$defs/time" }, "receive": { "$ref": "#/$defs/time" },
                "comment": { "type": "string" }
              }
            },
            "entry": {
              "type": "object", "additionalProperties": false, "patternProperties": { "^_": true },
              "required": ["startedDateTime", "time", "request", "response", "cache", "timings"],
              "properties": {
                "pageref": { "type": "string" }, "startedDateTime": { "type": "string", "format": "date-time" },
                "time": { "$ref": "#/$defs/time" }, "request": { "$ref": "#/$defs/request" },
                "response": { "$ref": "#/$defs/response" }, "cache": { "type": "object" }, "timings": { "$ref": "#/$defs/timings" },
                "serverIPAddress": { "type": "string" }, "connection": { "type": "string" }, "comment": { "type": "string" }
              }
            }
          },
          "type": "object", "required": ["log"], "additionalProperties": false,
          "properties": { "log": {
            "type": "object", "required": ["version", "creator", "entries"], "additionalProperties": false,
            "patternProperties": { "^_": true },
            "properties": {
              "version": { "const": "1.2" }, "creator": { "$ref": "#/$defs/tool" }, "browser": { "$ref": "#/$defs/tool" },
              "pages": { "type": "array" }, "entries": { "type": "array", "items": { "$ref": "#/$defs/entry" } },
              "comment": { "type": "string" }
            }
          } }
        }
        """#
}
