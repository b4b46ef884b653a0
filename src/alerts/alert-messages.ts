import { type Alert, alertLines, alertTitle } from '../domain/alert.ts';

/** One alert in the format of each channel. Names and reasons are untrusted text, so no format interprets them. */
export function mailOf(alert: Alert): { subject: string; text: string } {
  return { subject: alertTitle(alert), text: `${alertLines(alert).join('\n')}\n` };
}

/** Slack reads <...> as links and mentions. */
export function slackMessage(alert: Alert): object {
  const text = [alertTitle(alert), ...alertLines(alert)].join('\n');
  return { text: text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;') };
}

/** A RichTextBlock is shown literally. A TextBlock would be read as Markdown. */
export function teamsMessage(alert: Alert): object {
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
        },
      },
    ],
  };
}
