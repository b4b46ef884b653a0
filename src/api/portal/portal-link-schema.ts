import type { Static } from 'typebox';
import { idTime } from '../../domain/ids.ts';
import { oneOf, RequiredText, Text, Type } from '../../platform/type.ts';
import { type PortalLinkRow, portalAuthTypes } from '../../store/config/portal-links.ts';
import { updatedAt } from '../../store/database/row-times.ts';
import { Endpoint } from '../endpoints/endpoint-schema.ts';
import { iso, isoOrNull, NullableTime, Time } from '../http/fields.ts';

/** Null: the same as can_manage_endpoint. */
const AsManage = Type.Union([Type.Boolean(), Type.Null()]);

export const PortalLink = Type.Object({
  uid: Type.String(),
  project_id: Type.String(),
  name: Type.String(),
  owner_id: Type.String(),
  can_manage_endpoint: Type.Boolean(),
  can_create_events: Type.Boolean(),
  can_retry: Type.Boolean(),
  can_see_secrets: AsManage,
  can_edit_functions: AsManage,
  event_types: Type.Array(Type.String()),
  endpoints: Type.Array(Type.String(), { description: 'The endpoints of the owner, which the link shows.' }),
  endpoint_count: Type.Integer(),
  endpoints_metadata: Type.Array(Endpoint),
  token: Type.String({ description: 'The static token.' }),
  auth_type: oneOf(portalAuthTypes),
  auth_key: Type.String({ description: 'A new token, valid for an hour, for links of type refresh_token.' }),
  url: Type.String({ description: 'The URL of the portal page, with the token after the #.' }),
  expires_at: NullableTime,
  created_at: Time,
  updated_at: Time,
  deleted_at: NullableTime,
});

const fields = {
  endpoints: Type.Optional(
    Type.Array(RequiredText(64), {
      maxItems: 1000,
      description: 'Endpoints without an owner to assign to the owner.',
    }),
  ),
  can_manage_endpoint: Type.Optional(
    Type.Boolean({
      description: 'Whether the holder may change endpoints, subscriptions and filters. False by default.',
    }),
  ),
  can_create_events: Type.Optional(
    Type.Boolean({
      description: 'Whether the holder may send new events to the endpoints. False by default.',
    }),
  ),
  can_retry: Type.Optional(
    Type.Boolean({
      description: 'Whether the holder may send earlier events again, and test events. True by default.',
    }),
  ),
  can_see_secrets: Type.Optional(
    Type.Union([Type.Boolean(), Type.Null()], {
      description:
        'Whether the holder sees the secrets and credentials of endpoints, and the code of functions. Null, the default: as can_manage_endpoint.',
    }),
  ),
  can_edit_functions: Type.Optional(
    Type.Union([Type.Boolean(), Type.Null()], {
      description:
        'Whether the holder may change functions of subscriptions, together with can_manage_endpoint. Null, the default: as can_manage_endpoint.',
    }),
  ),
  event_types: Type.Optional(
    Type.Array(RequiredText(256), {
      maxItems: 100,
      description: 'Event types that the holder may see: names, or prefixes such as `invoice.*`. Empty: all.',
    }),
  ),
  auth_type: Type.Optional(oneOf([...portalAuthTypes, ''])),
  expires_at: Type.Optional(
    Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
      description: 'When the link expires; never if null.',
    }),
  ),
};

export const CreatePortalLink = Type.Object({
  name: RequiredText(256),
  owner_id: RequiredText(256),
  ...fields,
});
export const UpdatePortalLink = Type.Object({
  name: Type.Optional(RequiredText(256)),
  owner_id: Type.Optional(Text(256)),
  ...fields,
});

export function toPortalLink(
  row: PortalLinkRow,
  context: { endpoints: Static<typeof Endpoint>[]; token: string; authKey: string; publicUrl: string },
): Static<typeof PortalLink> {
  const { endpoints, token, authKey, publicUrl } = context;
  return {
    uid: row.id,
    project_id: row.project_id,
    name: row.name,
    owner_id: row.owner_id,
    can_manage_endpoint: row.can_manage_endpoint,
    can_create_events: row.can_create_events,
    can_retry: row.can_retry,
    can_see_secrets: row.can_see_secrets,
    can_edit_functions: row.can_edit_functions,
    event_types: row.event_types,
    endpoints: endpoints.map((endpoint) => endpoint.uid),
    endpoint_count: endpoints.length,
    endpoints_metadata: endpoints,
    token,
    auth_type: row.auth_type,
    auth_key: authKey,
    url: `${publicUrl}/portal?project=${row.project_id}#token=${authKey || token}`,
    expires_at: isoOrNull(row.expires_at),
    created_at: iso(idTime(row.id)),
    updated_at: updatedAt(row),
    deleted_at: isoOrNull(row.deleted_at),
  };
}
