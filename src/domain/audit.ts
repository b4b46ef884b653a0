/** Who changed what: the words of the audit log. */
export const auditActions = {
  'project.created': 'A project was made, with its first key.',
  'project.updated': 'Its name, logo or settings were changed.',
  'project.deleted': 'It was deleted; its keys ended with it.',
  'key.created': 'A key was made.',
  'key.revoked': 'A key was revoked.',
  'endpoint.created': 'An endpoint was made: by hand, by an onboarding or by a dynamic event.',
  'endpoint.updated': 'It was changed, or given to the owner of a portal link.',
  'endpoint.deleted': 'It was deleted; each of its subscriptions has an entry of its own.',
  'endpoint.paused': 'Its deliveries are held.',
  'endpoint.activated': 'It was made active.',
  'endpoint.disabled': 'The service made it inactive; `after.reason` says why.',
  'endpoint.secret_rolled': 'It got a new signing secret.',
  'subscription.created':
    'A subscription was made: by hand, by an onboarding or for an event sent to an endpoint.',
  'subscription.updated': 'It was changed.',
  'subscription.activated': 'Its status was switched to active.',
  'subscription.deactivated': 'Its status was switched to inactive.',
  'subscription.deleted': 'It was deleted, or ended with its endpoint or source.',
  'filter.created': 'A filter was added to a subscription.',
  'filter.updated': 'A filter was changed.',
  'filter.deleted': 'A filter was taken from a subscription.',
  'source.created': 'A source was made.',
  'source.updated': 'It was changed.',
  'source.deleted': 'It was deleted; each of its subscriptions has an entry of its own.',
  'portal_link.created': 'A portal link was made.',
  'portal_link.updated': 'It was changed.',
  'portal_link.revoked': 'It and its tokens were ended.',
  'portal_link.token_made': 'A token was asked for with `refresh_token`.',
  'event_type.created': 'An event type was added, by hand or by an import.',
  'event_type.updated': 'It was described anew, by hand or by an import.',
  'event_type.deprecated': 'It was marked as deprecated.',
  'job.started': 'A batch or an onboarding was started; `after` has its type and filter.',
  'job.cancelled': 'It was ended before it was done.',
  'event.replayed': 'An event was sent again.',
  'event_delivery.resent': 'A failed or discarded delivery was sent again.',
  'event_delivery.force_resent': 'Successful deliveries were sent once more; `after.ids` names them.',
  'meta_event.resent': 'A meta event was sent again.',
} as const satisfies Record<`${string}.${string}`, string>;

export type AuditAction = keyof typeof auditActions;

export const actorTypes = ['api_key', 'portal_link', 'instance_key', 'cli', 'instance'] as const;

/** Who makes a change: the holder of a key or link, the user of the operating system who gave a command, or the service. */
export type Actor =
  | { type: 'api_key' | 'portal_link' | 'instance_key' | 'cli'; id: string }
  | { type: 'instance'; id: null };

/**
 * By which a command says whose it is, percent-encoded. It is believed of the instance key only, whose holder may do
 * anything: it tells people apart and protects nothing.
 */
export const CLI_USER_HEADER = 'x-posthorn-cli-user';

/** The service itself: what it does on its first start, or because of what an endpoint answered. */
export const INSTANCE: Actor = { type: 'instance', id: null };

/** One change, as it happened; secrets are taken out where it is stored. */
export interface AuditNote {
  action: AuditAction;
  /** null: many at once. */
  resourceId: string | null;
  /** null: there was none. */
  before: object | null;
  /** null: there is none any more. */
  after: object | null;
}

/** An actor as two columns hold it. */
export function actorFrom(type: string, id: string | null): Actor {
  const known = actorTypes.find((name) => name === type) ?? 'instance';
  return known === 'instance' || id === null ? INSTANCE : { type: known, id };
}

/** The change of a row from what it was to what it is; null where there was or is none. */
export function changeOf(
  action: AuditAction,
  before: { id: string } | null | undefined,
  after: { id: string } | null,
): AuditNote {
  return { action, resourceId: (after ?? before)?.id ?? null, before: before ?? null, after };
}
