import type { Static } from 'typebox';
import { nullable, RequiredText, Text, Type } from '../../platform/type.ts';
import type { EventTypeRow } from '../../store/config/event-types.ts';
import { isoOrNull, NullableTime } from '../http/fields.ts';

const JsonSchema = Type.Record(Type.String(), Type.Unknown(), {
  description: 'JSON Schema for readers, and for checks where the project has `schema_check`.',
});

export const EventType = Type.Object({
  uid: Type.String(),
  name: Type.String(),
  category: Type.String(),
  description: Type.String(),
  json_schema: nullable(JsonSchema),
  deprecated_at: NullableTime,
});

const description = {
  category: Type.Optional(Text(256, 'Group for people.')),
  description: Type.Optional(Text(10_000, 'Description for people.')),
  json_schema: Type.Optional(JsonSchema),
};

export const CreateEventType = Type.Object({
  name: RequiredText(256, 'Name of the type. Filters can use it.'),
  ...description,
});
export const UpdateEventType = Type.Object(description);
export const ImportEventTypes = Type.Object({
  spec: RequiredText(5_242_880, 'An OpenAPI document, JSON or YAML.'),
});

export function toEventType(row: EventTypeRow): Static<typeof EventType> {
  return {
    uid: row.id,
    name: row.name,
    category: row.category,
    description: row.description,
    json_schema: row.json_schema,
    deprecated_at: isoOrNull(row.deprecated_at),
  };
}
