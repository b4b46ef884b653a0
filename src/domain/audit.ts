/** The actions of the audit log, each with a note for docs/audit.md where its name does not say enough. */
export const auditActions = {
  'project.created': 'with its first key',
  'project.updated': '',
  'project.deleted': 'its keys are revoked with it',
  'key.created': '',
  'key.revoked': '',
  'signing_key.created': 'a key of the project',
  'signing_key.deleted': '',
  'endpoint.created': 'by hand, by an onboarding or by a dynamic event',
  'endpoint.updated': 'or assigned to the owner of a portal link',
  'endpoint.deleted': '',
  'endpoint.paused': '',
  'endpoint.activated': '',
  'endpoint.disabled': 'by the service; `after.reason` says why',
  'endpoint.secret_rolled': '',
  'subscription.created': 'by hand, by an onboarding or for an event sent to an endpoint',
  'subscription.updated': '',
  'subscription.activated': '',
  'subscription.deactivated': '',
  'subscription.deleted': 'by itself, or with its endpoint or source',
  'device.deleted': 'with its subscription',
  'filter.created': '',
  'filter.updated': '',
  'filter.deleted': '',
  'source.created': '',
  'source.updated': '',
  'source.deleted': '',
  'portal_link.created': '',
  'portal_link.updated': '',
  'portal_link.revoked': 'with its tokens',
  'portal_link.token_made': 'by a call of `refresh_token`',
  'event_type.created': 'also by an import',
  'event_type.updated': 'also by an import',
  'event_type.deprecated': '',
  'view.saved': 'created or replaced',
  'view.deleted': '',
  'failures.muted': 'or the mute got another end',
  'failures.unmuted': '',
  'job.started': 'a batch or an onboarding; `after` has its type and filter',
  'job.cancelled': '',
  'event.replayed': '`after.deliveries` counts its new deliveries',
  'event.rescheduled': '',
  'event_delivery.resent': 'it had failed or was discarded',
  'event_delivery.force_resent': 'they had succeeded; `after.ids` names them',
  'ordering_keys.skipped': 'they were held; `after.ids` names them',
  'meta_event.resent': '',
  'person.created': '',
  'person.updated': 'name, address, activation or administration',
  'person.joined': 'got a role in a project',
  'person.role_changed': '',
  'person.left': 'lost the role in a project',
  'person.password_changed': 'by its owner; all other sessions ended',
  'person.second_factor_on': '',
  'person.second_factor_off': '',
  'person.recovery_codes_made': 'the earlier ones stopped working',
  'person.used_code_refused': 'a code of an authenticator app came twice; `after` says from where',
  'person.link_made': 'invitation, password reset or sign-in link; `after` has its purpose',
  'person.link_used': 'after an invitation or a reset the account has a new password',
  'person.signed_in': '`after` says how and from where',
  'session.ended': 'by its owner',
  'primary.accepted':
    '[an old primary](operations.md#an-old-primary-that-comes-back-as-the-only-one) is used',
} as const satisfies Record<`${string}.${string}`, string>;

export type AuditAction = keyof typeof auditActions;

export const actorTypes = ['person', 'api_key', 'portal_link', 'instance_key', 'cli', 'instance'] as const;

/**
 * The `Idempotency-Key` of a call that creates something. The call may be repeated, after a lost answer for example, and
 * creates it once. The key is reserved in the transaction that creates: a call at the same time waits for its commit.
 */
export interface Once {
  /** Id of the row: a keyed hash of credential, project, operation and key. */
  readonly id: string;
  /** A keyed hash of the request. Another request with the same key is refused. */
  readonly request: string;
  /** Seals what the response shows only once. */
  seal(secret: string): Buffer;
}

/** The outcome of the first call. */
export interface Made {
  /** Id of the row. */
  onceId: string;
  /** The ids of what it created, in the order of its audit entries. */
  ids: readonly string[];
  /** Null: its response can be rendered again without a secret. */
  sealed: Buffer | null;
}

/** Ends the transaction of a repeated call, which must change nothing. */
export class RepeatedCall extends Error {
  override name = 'RepeatedCall';
  readonly made: Made;

  constructor(made: Made) {
    super('the call was made before');
    this.made = made;
  }
}

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
      /** The tool of an assistant through which the call came. */
      via?: string;
      /** The call may be repeated, and makes its change once. */
      once?: Once;
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
