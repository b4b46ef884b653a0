import type { ApiContext } from '../../api/http/context.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import type { AgentCall, Json, ProjectApi } from '../tools/project-api.ts';
import { AgentSubscriptions } from './agent-subscriptions.ts';
import { checkEvent, listEvents } from './event-catalogue.ts';
import { callbackProblem } from './refusals.ts';

type Method = (params: Record<string, unknown>, call: AgentCall) => Promise<object>;

/** The methods of MCP Events, in webhook mode. `most`: live subscriptions of an owner. */
export function eventMethods(context: ApiContext, most: number): Record<string, Method> {
  const subscriptions = new AgentSubscriptions(context, most);
  return {
    'events/list': (params, call) => listEvents(call.api('events/list'), params),
    'events/subscribe': async (params, call) => {
      const api = call.api('events/subscribe');
      const made = await subscriptions.subscribe(call, params, (key) => checkEvent(api, key));
      const { id, refreshBefore, endpoint, wasLive } = made;
      const status = wasLive ? { deliveryStatus: await deliveryStatus(api, endpoint) } : {};
      // Positions of the past are not kept: a subscription begins now.
      return { id, refreshBefore, cursor: null, truncated: false, ...status };
    },
    'events/unsubscribe': async (params, call) => {
      await subscriptions.unsubscribe(call, params);
      return {};
    },
  };
}

/** How deliveries went, in the words of the draft, which show nothing of the callback's answers. */
async function deliveryStatus(api: ProjectApi, { id, status }: EndpointRow): Promise<object> {
  const newest = async (state?: string): Promise<Json> =>
    (await api.get('/eventdeliveries', { endpointId: id, status: state, perPage: 1 })).content[0];
  const [last, delivered] = [await newest(), await newest('Success')];
  const isFailing = last?.status === 'Failure' || last?.status === 'Retry';
  return {
    active: status === 'active',
    lastDeliveryAt: delivered?.updated_at ?? null,
    lastError: isFailing ? callbackProblem(last.last_outcome ?? null) : null,
  };
}
