import type { Static } from 'typebox';
import { createInputs, outputs, shownValues, updateInputs } from '../../domain/resources/fields.ts';
import { subscriptionFields } from '../../domain/resources/subscription-fields.ts';
import { nullable, RequiredText, Text, Type } from '../../platform/type.ts';
import type { SourceRow } from '../../store/config/sources.ts';
import type { SubscriptionRow } from '../../store/config/subscriptions.ts';
import { rowTimes } from '../../store/database/row-times.ts';
import { NullableDevice } from '../endpoints/device-schema.ts';
import { Endpoint } from '../endpoints/endpoint-schema.ts';
import { times } from '../http/fields.ts';
import { shownOrNull } from '../http/show-rows.ts';
import { Source, toSource } from '../sources/source-schema.ts';
import { Conditions, ScopeConditions } from './filter-conditions.ts';

export const Subscription = Type.Object({
  uid: Type.String(),
  project_id: Type.String(),
  ...outputs(subscriptionFields),
  endpoint_metadata: nullable(Endpoint),
  source_metadata: nullable(Source),
  device_metadata: NullableDevice,
  filter_config: Type.Object({
    event_types: Type.Array(Type.String()),
    filter: Type.Object({
      is_flattened: Type.Boolean({ description: 'false: the conditions are in the given form.' }),
      body: Conditions,
      headers: Conditions,
      query: Conditions,
      path: Conditions,
    }),
  }),
  ...times,
});

const otherFields = {
  app_id: Type.Optional(Text(64, 'Deprecated: use `endpoint_id`.')),
  filter_config: Type.Optional(
    Type.Object({
      event_types: Type.Optional(
        Type.Array(RequiredText(256), {
          maxItems: 1000,
          description: 'Event types: exact names, `*`, or trailing globs such as `invoice.*`. None: `*`.',
        }),
      ),
      filter: Type.Optional(ScopeConditions),
    }),
  ),
};

const inputs = updateInputs(subscriptionFields);
export const CreateSubscription = Type.Object({ ...createInputs(subscriptionFields), ...otherFields });
/** Go clients send an empty name with every change. */
export const UpdateSubscription = Type.Object({ ...inputs, name: Type.Optional(Text(256)), ...otherFields });

export function toSubscription(
  row: SubscriptionRow,
  links: {
    endpoint: Static<typeof Endpoint> | null;
    device: Static<typeof NullableDevice>;
    source: SourceRow | undefined;
    publicUrl: string;
  },
): Static<typeof Subscription> {
  const { endpoint, source } = links;
  return {
    uid: row.id,
    project_id: row.project_id,
    ...shownValues(subscriptionFields, row),
    endpoint_metadata: endpoint,
    source_metadata: source === undefined ? null : shownOrNull(() => toSource(source, links.publicUrl)),
    device_metadata: links.device,
    filter_config: { event_types: row.event_types, filter: { is_flattened: false, ...row.filter } },
    ...rowTimes(row),
  };
}
