import { type Alert, type AlertLink, alertLines, alertTitle } from '../domain/alert.ts';

/** One alert in the format of each channel. Names and reasons are untrusted text, so no format interprets them. */
export function mailOf(alert: Alert, links: readonly AlertLink[]): { subject: string; text: string } {
  const lines = [...alertLines(alert), ...links.map(({ title, url }) => `${title}: ${url}`)];
  return { subject: alertTitle(alert), text: `${lines.join('\n')}\n` };
}

/** Slack reads <...> as links and mentions. The links are our own. */
export function slackMessage(alert: Alert, links: readonly AlertLink[]): object {
  const text = [alertTitle(alert), ...alertLines(alert)].join('\n');
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return { text: [escaped, ...links.map(({ title, url }) => `<${url}|${title}>`)].join('\n') };
}

/** A RichTextBlock is shown literally. A TextBlock would be read as Markdown. */
export function teamsMessage(alert: Alert, links: readonly AlertLink[]): object {
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
