import type { HttpClient } from '../../dispatch/client/http-client.ts';
import type { MessageSender } from '../../dispatch/client/message-sender.ts';
import type { Outcome } from '../../dispatch/connection/outcome.ts';
import type { Turn } from '../../dispatch/connection/turn.ts';
import { timeoutSeconds } from '../../domain/config/endpoint.ts';
import type { ProjectConfig } from '../../domain/config/project-config.ts';
import type { LeasedDelivery } from '../../domain/delivery.ts';
import { keyInId } from '../../routing/ordering.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import { type BuiltRequest, toEndpoint, webhookId } from './build-request.ts';

export interface Ways {
  http: Pick<HttpClient, 'send'>;
  messages: MessageSender;
}

interface Built {
  request: BuiltRequest;
  row: EndpointRow;
  config: ProjectConfig;
  about: Pick<LeasedDelivery, 'id' | 'eventId' | 'isReplay' | 'eventType'> &
    Partial<Pick<LeasedDelivery, 'orderingId' | 'deliveryMode'>>;
}

/** Sends a request the way that its endpoint has: to its URL, or as a message to its broker. */
export function sendBuilt(
  { http, messages }: Ways,
  { request, row, config, about }: Built,
  { signal, turn }: { signal?: AbortSignal | undefined; turn?: Turn | undefined } = {},
): Promise<Outcome> {
  const destination = row.delivery === 'broker' ? (row.secret.reveal().broker ?? null) : null;
  if (destination === null)
    return http.send({ ...toEndpoint(request, row, config), ...(turn !== undefined && { turn }) }, signal);
  const { orderingId = null, eventType } = about;
  return messages.send(
    {
      destination,
      projectId: row.project_id,
      id: webhookId(about, row),
      eventType,
      headers: request.headers,
      body: request.body,
      orderingKey: orderingId === null ? null : keyInId(orderingId),
      isAtMostOnce: about.deliveryMode === 'at_most_once',
      cloudEvents: row.cloudevents,
      timeoutMs: timeoutSeconds(row, config) * 1000,
      ...(turn !== undefined && { turn }),
    },
    signal,
  );
}
