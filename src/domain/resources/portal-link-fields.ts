import { nullable, RequiredText, Type } from '../../platform/type.ts';
import { choice, type Facts, field, flag, name, type Values } from './fields.ts';

const portalAuthTypes = ['static_token', 'refresh_token'] as const;
type PortalAuthType = (typeof portalAuthTypes)[number];

/** A right that is as `can_manage_endpoint` until it is set. */
const asManage = <const F extends Facts>(facts: F) => {
  const schema = nullable(Type.Boolean());
  return field({ usual: null as boolean | null, input: schema }, facts);
};

/** The file of a project has no portal links: they belong to the customers of one service. */
export const portalLinkFields = {
  name,
  owner_id: field(
    { usual: '', input: RequiredText(256) },
    { text: 'Owner whose endpoints the link shows.', label: 'Customer', required: true },
  ),
  can_manage_endpoint: flag(false, {
    text: 'Whether the [holder](portal.md#rights-of-a-holder) may change endpoints, subscriptions and filters.',
    label: 'Change endpoints and subscriptions',
  }),
  can_create_events: flag(false, {
    text: 'Whether the holder may send new events to the endpoints.',
    label: 'Send new events to their own endpoints',
  }),
  can_retry: flag(true, {
    text: 'Whether the holder may send earlier events again, and test events.',
    label: 'Retry, and send test events',
  }),
  can_see_secrets: asManage({
    text: 'Whether the holder sees the secrets and credentials of endpoints, and the code of functions. Null: as `can_manage_endpoint`.',
    label: 'See secrets and credentials',
  }),
  can_edit_functions: asManage({
    text: 'Whether the holder may change functions, together with `can_manage_endpoint`. Null: as `can_manage_endpoint`.',
    label: 'Change functions',
  }),
  can_use_brokers: flag(false, {
    text: 'Whether the holder may send to [brokers](brokers.md#destinations), together with `can_manage_endpoint`, if `portal_brokers` of the project is set.',
    label: 'Send to brokers',
  }),
  event_types: field(
    {
      usual: [] as string[],
      input: Type.Array(RequiredText(256), { maxItems: 100 }),
    },
    {
      text: '[Event types](portal.md#event-types) that the holder may see: names, or prefixes such as `invoice.*`. Empty: all.',
      label: 'Event types',
    },
  ),
  auth_type: choice(
    { of: portalAuthTypes, usual: 'static_token' as PortalAuthType },
    { text: '[Kind of token](portal.md#tokens).', label: 'Token' },
  ),
  expires_at: field(
    {
      usual: null as number | null,
      input: nullable(Type.String({ format: 'date-time' })),
    },
    { text: 'Time at which the link expires. Null: never.', label: 'Expires', hidden: true },
  ),
};

export type PortalLinkFields = Values<typeof portalLinkFields>;
