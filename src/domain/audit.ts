/** The actions of the audit log. */
export const auditActions = {
  'project.created': 'A project was created, with its first key.',
  'project.updated': 'The name, logo or settings of a project were changed.',
  'project.deleted': 'A project was deleted. Its keys were revoked with it.',
  'key.created': 'A key was created.',
  'key.revoked': 'A key was revoked.',
  'endpoint.created': 'An endpoint was created: by hand, by an onboarding or by a dynamic event.',
  'endpoint.updated': 'An endpoint was changed, or assigned to the owner of a portal link.',
  'endpoint.deleted': 'An endpoint was deleted. Each of its subscriptions has its own entry.',
  'endpoint.paused': 'An endpoint was paused. Its deliveries wait.',
  'endpoint.activated': 'An endpoint was activated.',
  'endpoint.disabled': 'The service made an endpoint inactive. `after.reason` says why.',
  'endpoint.secret_rolled': 'An endpoint got a new signing secret.',
  'subscription.created':
    'A subscription was created: by hand, by an onboarding or for an event sent to an endpoint.',
  'subscription.updated': 'A subscription was changed.',
  'subscription.activated': 'A subscription was activated.',
  'subscription.deactivated': 'A subscription was deactivated.',
  'subscription.deleted': 'A subscription was deleted, by itself or with its endpoint or source.',
  'device.deleted': 'A device was deleted, with its subscription.',
  'filter.created': 'A filter was added to a subscription.',
  'filter.updated': 'A filter was changed.',
  'filter.deleted': 'A filter was removed from a subscription.',
  'source.created': 'A source was created.',
  'source.updated': 'A source was changed.',
  'source.deleted': 'A source was deleted. Each of its subscriptions has its own entry.',
  'portal_link.created': 'A portal link was created.',
  'portal_link.updated': 'A portal link was changed.',
  'portal_link.revoked': 'A portal link and its tokens were revoked.',
  'portal_link.token_made': 'A token was requested with `refresh_token`.',
  'event_type.created': 'An event type was added, by hand or by an import.',
  'event_type.updated': 'An event type was changed, by hand or by an import.',
  'event_type.deprecated': 'An event type was marked as deprecated.',
  'view.saved': 'A view of the dashboard was saved or replaced.',
  'view.deleted': 'A view of the dashboard was deleted.',
  'failures.muted': 'A group of failures was muted, or its mute got another end.',
  'failures.unmuted': 'A group of failures was unmuted.',
  'job.started': 'A batch or an onboarding was started. `after` has its type and filter.',
  'job.cancelled': 'A job was cancelled.',
  'event.replayed':
    'An event was replayed. `after.deliveries` is the number of its new deliveries, those that are still being created included.',
  'event_delivery.resent': 'A failed or discarded delivery was sent again.',
  'event_delivery.force_resent': 'Successful deliveries were sent again. `after.ids` names them.',
  'meta_event.resent': 'A meta event was sent again.',
  'person.created': 'An account was created.',
  'person.updated': 'The name, address, activation or administration of an account was changed.',
  'person.joined': 'A person got a role in a project.',
  'person.role_changed': 'A person got another role in a project.',
  'person.left': 'A person lost the role in a project.',
  'person.password_changed': 'A person changed the own password. All other sessions ended.',
  'person.second_factor_on': 'A person set up a second factor.',
  'person.second_factor_off': 'A person removed the second factor.',
  'person.recovery_codes_made': 'A person got new recovery codes. The earlier ones stopped working.',
  'person.used_code_refused':
    'A code of an authenticator app was sent again and refused. `after` says from where.',
  'person.link_made':
    'An invitation, a reset of the password or a sign-in link was made. `after` has its purpose.',
  'person.link_used': 'A link was used. After an invitation or a reset the account has a new password.',
  'person.signed_in': 'A person signed in. `after` says how and from where.',
  'session.ended': 'A session was ended by its owner.',
} as const satisfies Record<`${string}.${string}`, string>;

export type AuditAction = keyof typeof auditActions;

export const actorTypes = ['person', 'api_key', 'portal_link', 'instance_key', 'cli', 'instance'] as const;

/**
 * The actor of a change: a person, the holder of a key or link, the system user who ran a command, or the service. The
 * credential is the session of a person, or the key of a command. The address is where the call came from.
 */
export type Actor =
  | {
      type: 'person' | 'api_key' | 'portal_link' | 'instance_key' | 'cli';
      id: string;
      credentialId?: string;
      address?: string;
    }
  | { type: 'instance'; id: null };

/**
 * The user of a command, percent-encoded. It is trusted only with the instance key, whose holder may do
 * anything. It identifies people and protects nothing.
 */
export const CLI_USER_HEADER = 'x-posthorn-cli-user';

/**
 * The version of a project's config that a caller wants to change, and the version that its change made. Every change that
 * people make raises it by one: endpoints, subscriptions, filters, sources, event types, portal links and settings.
 */
export interface ConfigVersion {
  /** Null: any. */
  wanted: number | null;
  /** Null: nothing was changed yet. */
  made: number | null;
}

/** The header that names it, in requests and answers. */
export const CONFIG_VERSION_HEADER = 'x-posthorn-config-version';

/** The service itself: its first start, or a reaction to an endpoint's response. */
export const INSTANCE: Actor = { type: 'instance', id: null };

/** One change, with secrets. They are removed when it is stored. */
export interface AuditNote {
  action: AuditAction;
  /** Null: many at once. */
  resourceId: string | null;
  /** Null: it did not exist. */
  before: object | null;
  /** Null: it no longer exists. */
  after: object | null;
}

interface ActorColumns {
  actor_type: string;
  actor_id: string | null;
  actor_credential_id: string | null;
  actor_address: string | null;
}

/** An actor as the columns of a row hold it. */
export function actorFrom(row: ActorColumns): Actor {
  const { actor_id: id, actor_credential_id: credentialId, actor_address: address } = row;
  const type = actorTypes.find((name) => name === row.actor_type) ?? 'instance';
  if (type === 'instance' || id === null) return INSTANCE;
  return {
    type,
    id,
    ...(credentialId !== null && { credentialId }),
    ...(address !== null && { address }),
  };
}

/** The change of a row. `null` means that it did not or does not exist. */
export function changeOf(
  action: AuditAction,
  before: { id: string } | null | undefined,
  after: { id: string } | null,
): AuditNote {
  return { action, resourceId: (after ?? before)?.id ?? null, before: before ?? null, after };
}
