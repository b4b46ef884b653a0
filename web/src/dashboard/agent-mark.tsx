import type { Endpoint } from 'posthorn-client';

/** The id of the agent's subscription that an endpoint belongs to. Undefined: it is not an agent's. */
export const agentSubscription = ({ metadata }: Pick<Endpoint, 'metadata'>): string | undefined =>
  metadata['agent'] === undefined ? undefined : metadata['agent_subscription'];

/** Marks what an agent made for itself, and what ends by itself when the agent no longer refreshes it. */
export function AgentMark({ of }: { of: Pick<Endpoint, 'metadata'> | null | undefined }) {
  if (of === null || of === undefined || agentSubscription(of) === undefined) return null;
  return (
    <span
      className="ml-1.5 rounded border border-line px-1 text-muted"
      title="Subscribed by an agent. It ends unless the agent refreshes it."
    >
      agent
    </span>
  );
}
