import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpClient } from '../dispatch/client/http-client.ts';
import {
  type Alert,
  type AlertLink,
  type AlertNotifier,
  alertLines,
  alertLinks,
  alertTitle,
} from '../domain/alert.ts';
import type { ObserverGuard } from '../metrics/observer-guard.ts';
import type { Logger } from '../platform/logger.ts';
import { SharedRoom } from '../platform/shared-room.ts';
import { Tasks } from '../platform/tasks.ts';
import { VERSION } from '../platform/version.ts';
import type { Mailer } from './mailer.ts';

/**
 * Sends alerts to an endpoint's mail address and chat channels, without delaying deliveries. A failed message
 * is tried twice more, then dropped. Messages in progress are dropped when the node stops. The meta event of
 * the same alert is never lost.
 */
interface AlertChannelsDeps {
  http: HttpClient;
  /** Null: no mail server is configured. */
  mailer: Mailer | null;
  guard: ObserverGuard;
  /** Where the dashboard is. */
  publicUrl(): string;
  log: Logger;
}

interface Message {
  channel: 'mail' | 'slack' | 'teams';
  endpointId: string;
  /** Null: accepted. Otherwise the reason why not. */
  send(): Promise<string | null>;
}

const TIMEOUT_MS = 10_000;
const MAX_RESPONSE_BYTES = 1_024;
const RETRY_AFTER_MS = [2_000, 15_000];
/** A larger number at once would not be read. A project alone has half of it. */
const MAX_UNDER_WAY = 1_000;
const STOP_MS = 2_000;

export class AlertChannels implements AlertNotifier {
  readonly #deps: AlertChannelsDeps;
  readonly #underWay = new Tasks();
  readonly #room = new SharedRoom(MAX_UNDER_WAY);
  readonly #abort = new AbortController();

  constructor(deps: AlertChannelsDeps) {
    this.#deps = deps;
  }

  notify(alert: Alert): void {
    const { project_id: projectId } = alert.endpoint;
    for (const message of this.#messages(alert)) {
      const { channel, endpointId } = message;
      if (!this.#room.enter(projectId)) {
        this.#deps.log.warn({ channel, endpoint: endpointId }, 'alert not sent: too many at once');
        continue;
      }
      const send = () => this.#deps.guard.settle('alert', () => this.#send(message), undefined);
      this.#underWay.add(send, () => this.#room.leave(projectId));
    }
  }

  /** Messages in progress get a moment. None is retried later. */
  async stop(): Promise<void> {
    this.#abort.abort();
    await Promise.race([this.#underWay.settled(), sleep(STOP_MS, undefined, { ref: false })]);
  }

  #messages(alert: Alert): Message[] {
    const { id: endpointId, project_id: projectId, support_email: to, secret } = alert.endpoint;
    const { slack_webhook_url, teams_webhook_url } = secret.reveal();
    const { mailer } = this.#deps;
    const links = alertLinks(alert, this.#deps.publicUrl());
    const messages: Message[] = [];
    if (mailer !== null && to !== '')
      messages.push({
        channel: 'mail',
        endpointId,
        send: () => mail(mailer, { projectId, to, ...mailOf(alert, links) }),
      });
    if (slack_webhook_url !== '') {
      const send = () => this.#post(slack_webhook_url, slackMessage(alert, links));
      messages.push({ channel: 'slack', endpointId, send });
    }
    if (teams_webhook_url !== '') {
      const send = () => this.#post(teams_webhook_url, teamsMessage(alert, links));
      messages.push({ channel: 'teams', endpointId, send });
    }
    return messages;
  }

  async #send({ channel, endpointId, send }: Message): Promise<void> {
    const { log } = this.#deps;
    for (let tries = 1; ; tries++) {
      const problem = await send();
      if (problem === null) return;
      const waitMs = this.#abort.signal.aborted ? undefined : RETRY_AFTER_MS[tries - 1];
      const outcome = waitMs === undefined ? 'dropped' : 'retrying';
      log.warn({ channel, endpoint: endpointId, tries, problem }, `alert not sent; ${outcome}`);
      if (waitMs === undefined) return;
      // Only a stop of this node ends the wait early. The last try then happens at once.
      await sleep(waitMs, undefined, { signal: this.#abort.signal }).catch(() => undefined);
    }
  }

  async #post(url: string, message: object): Promise<string | null> {
    const outcome = await this.#deps.http.send({
      url,
      headers: [
        ['Content-Type', 'application/json'],
        ['User-Agent', `Posthorn/${VERSION}`],
      ],
      body: Buffer.from(JSON.stringify(message)),
      timeoutMs: TIMEOUT_MS,
      maxResponseBytes: MAX_RESPONSE_BYTES,
    });
    if (outcome.kind === 'error') return outcome.message;
    return outcome.status >= 200 && outcome.status < 300 ? null : `answered ${outcome.status}`;
  }
}

async function mail(mailer: Mailer, message: Parameters<Mailer['send']>[0]): Promise<string | null> {
  try {
    await mailer.send(message);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** One alert in the format of each channel. Names and reasons are untrusted text, so no format interprets them. */
function mailOf(alert: Alert, links: readonly AlertLink[]): { subject: string; text: string } {
  const lines = [...alertLines(alert), ...links.map(({ title, url }) => `${title}: ${url}`)];
  return { subject: alertTitle(alert), text: `${lines.join('\n')}\n` };
}

/** Slack reads <...> as links and mentions. The links are our own. */
function slackMessage(alert: Alert, links: readonly AlertLink[]): object {
  const text = [alertTitle(alert), ...alertLines(alert)].join('\n');
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return { text: [escaped, ...links.map(({ title, url }) => `<${url}|${title}>`)].join('\n') };
}

/** A RichTextBlock is shown literally. A TextBlock would be read as Markdown. */
function teamsMessage(alert: Alert, links: readonly AlertLink[]): object {
  const block = (text: string, isTitle: boolean) => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text, ...(isTitle && { weight: 'Bolder', size: 'Medium' }) }],
  });
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [block(alertTitle(alert), true), ...alertLines(alert).map((line) => block(line, false))],
          actions: links.map(({ title, url }) => ({ type: 'Action.OpenUrl', title, url })),
        },
      },
    ],
  };
}
