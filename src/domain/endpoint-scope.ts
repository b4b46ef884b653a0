/**
 * The part of a project that a portal caller may see: the endpoints of one owner, and through them their
 * subscriptions, deliveries and events. Undefined stands for the whole project, which is what API keys see. It comes
 * with every call and every list takes it; an owner without endpoints sees nothing, not everything.
 */
export interface EndpointScope {
  readonly ownerId: string;
  readonly endpointIds: ReadonlySet<string>;
  readonly canManage: boolean;
}

export function inScope(scope: EndpointScope | undefined, endpointId: string): boolean {
  return scope === undefined || scope.endpointIds.has(endpointId);
}

/** The value if its endpoint is in scope. What is out of scope is as if it were not there: the caller gets a 404. */
export function visible<T>(
  scope: EndpointScope | undefined,
  value: T | undefined,
  endpointId: (value: T) => string,
): T | undefined {
  return value !== undefined && inScope(scope, endpointId(value)) ? value : undefined;
}

/** An endpoint as just read, if it is the owner's: more exact than the ids, which may be a second old. */
export function owned<T extends { owner_id: string }>(
  scope: EndpointScope | undefined,
  endpoint: T | undefined,
): T | undefined {
  return scope === undefined || endpoint?.owner_id === scope.ownerId ? endpoint : undefined;
}
