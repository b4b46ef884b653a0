import { expect, test } from 'vitest';
import { AlertChannels } from '../../src/alerts/alert-channels.ts';
import { HttpClient } from '../../src/dispatch/client/http-client.ts';
import type { Alert } from '../../src/domain/alert.ts';
import { createMetrics } from '../../src/metrics/metrics.ts';
import { ObserverGuard } from '../../src/metrics/observer-guard.ts';
import { Secret } from '../../src/platform/secret.ts';
import { eventually } from '../support/eventually.ts';
import { quietLog } from '../support/quiet-log.ts';
import { listenHttp, listenTcp } from '../support/servers/loopback-server.ts';

function alertOf(projectId: string, chatUrl: string): Alert {
  return {
    kind: 'breaker',
    state: 'raised',
    endpoint: {
      id: `endpoint of ${projectId}`,
      project_id: projectId,
      name: 'orders',
      delivery: 'push',
      url: 'https://example.com/',
      support_email: '',
      secret: new Secret({ slack_webhook_url: chatUrl, teams_webhook_url: '' }),
    },
    subscription: null,
    summary: 'It keeps failing.',
    lastFailure: null,
  };
}

test('alerts of one project whose chat hangs leave room for those of others', async ({ onTestFinished }) => {
  const hanging = await listenTcp(() => {});
  onTestFinished(() => hanging.close());
  const chat = await listenHttp((request, response) => {
    request.resume();
    response.end();
  });
  onTestFinished(() => chat.close());
  const http = new HttpClient({ egress: 'any' });
  onTestFinished(() => http.close());
  const refused: string[] = [];
  const log = Object.assign(Object.create(quietLog), {
    warn: ({ endpoint }: { endpoint: string }) => refused.push(endpoint),
  });
  const guard = new ObserverGuard(quietLog, createMetrics().metrics.observerFaults);
  const channels = new AlertChannels({
    http,
    mailer: null,
    guard,
    log,
    publicUrl: () => 'https://p.example',
  });
  for (let n = 0; n < 2_000; n += 1) channels.notify(alertOf('many', `http://127.0.0.1:${hanging.port}/`));
  expect(refused).toHaveLength(1_500);
  channels.notify(alertOf('other', `http://127.0.0.1:${chat.port}/`));
  await eventually(async () => chat.connections(), 1);
  expect(refused).not.toContain('endpoint of other');
});
