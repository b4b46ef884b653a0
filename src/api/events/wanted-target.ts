import { oneOf, Type } from '../../platform/type.ts';
import type { EventTarget } from '../../routing/project-routing.ts';

/** A change of config that an event makes, so that it has an endpoint and a subscription to go to. */
export const TargetChange = Type.Object({
  resource: oneOf(['endpoint', 'subscription'] as const),
  action: oneOf(['create', 'update'] as const),
  endpoint_id: Type.String({ description: 'Empty for an endpoint that would be created.' }),
  url: Type.String(),
});

export interface TargetChangeOf {
  resource: 'endpoint' | 'subscription';
  action: 'create' | 'update';
  endpoint_id: string;
  url: string;
}

/** Where an event goes. A change is made after all else about the call is checked. */
export interface WantedTarget {
  make(): Promise<EventTarget>;
  /** As the config is now. Null: there is nothing yet. */
  known: EventTarget | null;
  changes: readonly TargetChangeOf[];
}

/** A target that needs no change. */
export const fixedTarget = (target: EventTarget): WantedTarget => ({
  make: async () => target,
  known: target,
  changes: [],
});
