import { isEventTypePattern } from './config/subscription.ts';
import { AppError } from './errors.ts';

/** The rights of a portal link beyond looking. */
export interface PortalRights {
  /** Endpoints, subscriptions and filters can be changed. */
  readonly canManage: boolean;
  /** Earlier events can be sent again, and test events. */
  readonly canRetry: boolean;
  /** Secrets and credentials of endpoints are shown, and secrets can be rolled. */
  readonly canSeeSecrets: boolean;
  readonly canEditFunctions: boolean;
  readonly canCreateEvents: boolean;
  /** Endpoints may send to brokers, where the project allows it too. */
  readonly canUseBrokers: boolean;
}

/**
 * The part of a project that a portal caller may see: the endpoints of one owner, and their subscriptions,
 * deliveries and events. If the link lists event types, deliveries and events are limited to those. Undefined
 * means the whole project, as for API keys. It comes with every call and every list applies it. An owner
 * without endpoints sees nothing, not everything.
 */
export interface EndpointScope extends PortalRights {
  readonly ownerId: string;
  readonly endpointIds: ReadonlySet<string>;
  /** Names, `*` and trailing globs, as in subscriptions. Empty: all. */
  readonly eventTypes: readonly string[];
}

export function inScope(scope: EndpointScope | undefined, endpointId: string): boolean {
  return scope === undefined || scope.endpointIds.has(endpointId);
}

export function seesEventType(scope: EndpointScope | undefined, eventType: string): boolean {
  if (scope === undefined || scope.eventTypes.length === 0) return true;
  return scope.eventTypes.some((known) =>
    // A glob includes names and narrower globs.
    isEventTypePattern(known) ? eventType.startsWith(known.slice(0, -1)) : known === eventType,
  );
}

/** Refuses event types that the link does not list, because the endpoint would receive them. */
export function requireEventTypes(scope: EndpointScope | undefined, eventTypes: readonly string[]): void {
  const closed = eventTypes.find((type) => !seesEventType(scope, type));
  if (closed !== undefined) throw new AppError('portal_forbidden', { what: `the event type ${closed}` });
}

/** Refuses a changed function of a subscription unless the link may edit functions. */
export function requireFunctionRight(
  scope: EndpointScope | undefined,
  { known, wanted }: { known: string; wanted: string | undefined },
): void {
  if (scope === undefined || scope.canEditFunctions || wanted === undefined || wanted === known) return;
  throw new AppError('portal_forbidden', { what: 'changing functions' });
}

/** A delivery, or a part of one, if its endpoint and its event type are in scope. */
export function seesDelivery(
  scope: EndpointScope | undefined,
  delivery: { endpoint_id: string; event_type: string },
): boolean {
  return inScope(scope, delivery.endpoint_id) && seesEventType(scope, delivery.event_type);
}

/** The value if its endpoint is in scope. Otherwise it counts as missing, and the caller gets a 404. */
export function visible<T>(
  scope: EndpointScope | undefined,
  value: T | undefined,
  endpointId: (value: T) => string,
): T | undefined {
  return value !== undefined && inScope(scope, endpointId(value)) ? value : undefined;
}

/** An endpoint just read, if it belongs to the owner. This is more exact than the ids, which may be a second old. */
export function owned<T extends { owner_id: string }>(
  scope: EndpointScope | undefined,
  endpoint: T | undefined,
): T | undefined {
  return scope === undefined || endpoint?.owner_id === scope.ownerId ? endpoint : undefined;
}
