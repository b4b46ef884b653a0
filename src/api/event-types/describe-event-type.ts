import type { Static } from 'typebox';
import type { EventTypeRow } from '../../store/config/event-types.ts';
import { updated } from '../http/updated.ts';
import { checkJsonSchema } from './check-json-schema.ts';
import { UpdateEventType } from './event-type-schema.ts';

export const UNDESCRIBED = { category: '', description: '', json_schema: null };

/** The type from the body. An empty schema says nothing, so none is stored. */
export function describe<Known extends Pick<EventTypeRow, 'category' | 'description' | 'json_schema'>>(
  known: Known,
  body: Static<typeof UpdateEventType>,
): Known {
  const { json_schema: schema } = body;
  if (schema !== undefined) checkJsonSchema(schema, 'json_schema');
  const isEmpty = schema !== undefined && Object.keys(schema).length === 0;
  return updated<Pick<EventTypeRow, 'category' | 'description' | 'json_schema'>>(known, UpdateEventType, {
    ...body,
    json_schema: isEmpty ? null : schema,
  }) as Known;
}
