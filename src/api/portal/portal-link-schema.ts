import type { Static } from 'typebox';
import { createInputs, outputs, shownValues, updateInputs } from '../../domain/resources/fields.ts';
import { portalLinkFields } from '../../domain/resources/portal-link-fields.ts';
import { RequiredText, Text, Type } from '../../platform/type.ts';
import type { PortalLinkRow } from '../../store/config/portal-links.ts';
import { rowTimes } from '../../store/database/row-times.ts';
import { Endpoint } from '../endpoints/endpoint-schema.ts';
import { isoOrNull, NullableTime, times } from '../http/fields.ts';

export const PortalLink = Type.Object({
  uid: Type.String(),
  project_id: Type.String(),
  ...outputs(portalLinkFields),
  endpoints: Type.Array(Type.String(), { description: 'The endpoints of the owner, which the link shows.' }),
  endpoint_count: Type.Integer(),
  endpoints_metadata: Type.Array(Endpoint),
  token: Type.String({ description: 'The static token.' }),
  auth_key: Type.String({ description: 'A new token, valid for an hour, for links of type refresh_token.' }),
  url: Type.String({ description: 'The URL of the portal page, with the token after the #.' }),
  expires_at: NullableTime,
  ...times,
});

const endpoints = Type.Optional(
  Type.Array(RequiredText(64), {
    maxItems: 1000,
    description: 'Endpoints without an owner to assign to this owner.',
  }),
);

export const CreatePortalLink = Type.Object({ ...createInputs(portalLinkFields), endpoints });
export const UpdatePortalLink = Type.Object({
  ...updateInputs(portalLinkFields),
  owner_id: Type.Optional(Text(256)),
  endpoints,
});

export function toPortalLink(
  row: PortalLinkRow,
  context: { endpoints: Static<typeof Endpoint>[]; token: string; authKey: string; publicUrl: string },
): Static<typeof PortalLink> {
  const { endpoints, token, authKey, publicUrl } = context;
  return {
    uid: row.id,
    project_id: row.project_id,
    ...shownValues(portalLinkFields, row),
    endpoints: endpoints.map((endpoint) => endpoint.uid),
    endpoint_count: endpoints.length,
    endpoints_metadata: endpoints,
    token,
    auth_key: authKey,
    url: `${publicUrl}/portal?project=${row.project_id}#token=${authKey || token}`,
    expires_at: isoOrNull(row.expires_at),
    ...rowTimes(row),
  };
}
