import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PortalRight } from '../src/api/http/operation.ts';
import { commands } from '../src/cli/commands.ts';
import { auditActions } from '../src/domain/audit.ts';
import { CircuitBreaker, defaultProjectConfig } from '../src/domain/config/project-config.ts';
import { transitions } from '../src/domain/delivery.ts';
import { errorTable } from '../src/domain/errors.ts';
import { providerPresets } from '../src/ingest/verify/presets.ts';
import { metricTable } from '../src/metrics/metrics.ts';
import { processMetrics } from '../src/metrics/process-metrics.ts';
import { isCommonFlag, usageOf } from '../src/remote/terminal/command.ts';
import { flagRow } from '../src/remote/terminal/help.ts';
import { settings } from '../src/settings/settings.ts';

/** The generated sections of our Markdown pages. */

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return `${[line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')}\n`;
}

const code = (text: string): string => (text === '' ? '' : `\`${text}\``);

/** The states of a delivery, as a diagram that Markdown viewers draw. */
export function stateSection(): string {
  const lines = transitions.map(({ from, to, when }) => `  ${from ?? '[*]'} --> ${to}: ${when}`);
  return `\`\`\`mermaid\nstateDiagram-v2\n${lines.join('\n')}\n\`\`\`\n`;
}

export function configSection(): string {
  return table(
    ['variable', 'default', 'allowed', 'meaning'],
    Object.values(settings).map(({ env, fallback, doc, parse }) => [
      code(env),
      code(fallback),
      allowedText(parse.allowed),
      doc,
    ]),
  );
}

/** What an error says of a wrong value, for a table: without the advice, and with thousands apart. */
function allowedText(allowed: string): string {
  const [form = ''] = allowed.split(';');
  return form.replaceAll(/\d{5,}/g, (digits) => Number(digits).toLocaleString('en'));
}

export function errorSection(): string {
  return table(
    ['code', 'status', 'message'],
    Object.entries(errorTable).map(([name, { status, message }]) => [
      code(name),
      String(status),
      code(message),
    ]),
  );
}

export function breakerSection(): string {
  const defaults = defaultProjectConfig('', '').circuit_breaker;
  const meanings: Record<string, { type: string; description?: string }> = CircuitBreaker.properties;
  return table(
    ['field', 'default', 'meaning'],
    Object.entries(defaults).map(([name, value]) => [
      code(name),
      String(value),
      meanings[name]?.description ?? '',
    ]),
  );
}

export function actionSection(): string {
  return table(
    ['action', 'what happened'],
    Object.entries(auditActions).map(([name, meaning]) => [code(name), meaning]),
  );
}

export function presetSection(): string {
  return table(
    ['provider', 'sender', 'secret', 'signature in', 'needs too', 'event type from'],
    providerPresets.map(
      ({ name, title, secretName, signatureHeaders, otherHeaders, eventTypeLocation, eventTypeOf }) => [
        code(name),
        title,
        secretName,
        signatureHeaders.map(code).join(', '),
        otherHeaders.map(code).join(', '),
        eventTypeOf?.description ?? code(eventTypeLocation ?? ''),
      ],
    ),
  );
}

export function metricSection(): string {
  const labelled = (labels: readonly { name: string; values: readonly string[] }[]) =>
    labels.map(({ name, values }) => `${code(name)}: ${values.join(', ')}`).join('; ');
  const service = table(
    ['metric', 'type', 'labels', 'meaning'],
    Object.values(metricTable).map(({ name, type, labels, help, ...rest }) => [
      code(name),
      type,
      labelled(labels),
      'buckets' in rest ? `${help} Buckets: ${rest.buckets.join(', ')}.` : help,
    ]),
  );
  const process = table(
    ['metric', 'type', 'meaning'],
    processMetrics.map(({ name, type, help }) => [code(name), type, help]),
  );
  return `## The service\n\n${service}\n## The process\n\n${process}`;
}

/** The commands of the server. */
export function commandSection(): string {
  return table(
    ['command', 'what it does'],
    Object.entries(commands)
      .filter(([, { group }]) => group === 'Server')
      .map(([name, command]) => [code(`posthorn ${usageOf(name, command)}`), command.summary]),
  );
}

/** Every command with its arguments, from the table that --help is made from. */
export function commandReference(): string {
  const groups = Map.groupBy(Object.entries(commands), ([, { group }]) => group);
  return [...groups]
    .map(([group, rows]) => `### ${group}\n\n${rows.map(([name]) => commandText(name)).join('\n')}`)
    .join('\n');
}

function commandText(name: string): string {
  const command = commands[name];
  if (command === undefined) throw new Error(`there is no command ${name}`);
  const { summary, details = '', operands = [], flags = {}, examples } = command;
  const rows = [
    ...operands.map((operand) => [code(operand.name), operand.summary]),
    ...Object.entries(flags)
      .filter((flag) => !isCommonFlag(flag))
      .map((flag) => flagRow(flag))
      .map(([left, right]) => [code(left), right]),
  ];
  return [
    `#### posthorn ${name}\n`,
    `${`${summary} ${details}`.trim()}\n`,
    ...(rows.length === 0 ? [] : [table(['argument', 'meaning'], rows)]),
    `\`\`\`text\n${examples.join('\n')}\n\`\`\`\n`,
  ].join('\n');
}

/** The allowed imports of each folder, from the same file as the import rules. */
export function layerSection(): string {
  const layers = JSON.parse(readFileSync(join(import.meta.dirname, '../layers.json'), 'utf8')) as Record<
    string,
    string[]
  >;
  return table(
    ['folder', 'may import'],
    Object.entries(layers).map(([folder, allowed]) => [
      code(folder),
      allowed.map(code).join(', ') || 'nothing of ours',
    ]),
  );
}

/** Every operation of the OpenAPI document, without those of the portal, which repeat others. */
const RIGHTS: Record<PortalRight, string> = {
  read: 'any',
  anyone: 'any',
  resend: '`can_retry`',
  manage: '`can_manage_endpoint`',
  roll_secrets: '`can_manage_endpoint`, `can_see_secrets`',
  create_events: '`can_create_events`',
};

/** The operations under /portal-api, with the kind of link that may call each. */
export function portalSection(openApi: string): string {
  const { paths } = JSON.parse(openApi) as {
    paths: Record<string, Record<string, { summary: string; 'x-portal-right'?: PortalRight }>>;
  };
  const rows = Object.entries(paths)
    .filter(([path]) => path.startsWith('/portal-api/'))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { summary, 'x-portal-right': right }]) => {
        if (right === undefined) throw new Error(`${method} ${path} does not declare what a link needs`);
        return [RIGHTS[right], method.toUpperCase(), code(path), summary];
      }),
    );
  const order = Object.values(RIGHTS);
  rows.sort(([a = ''], [b = '']) => order.indexOf(a) - order.indexOf(b));
  return table(['link', 'method', 'path', 'what it does'], rows);
}

export function operationSection(openApi: string): string {
  const { paths } = JSON.parse(openApi) as {
    paths: Record<string, Record<string, { summary: string; responses: object }>>;
  };
  const rows = Object.entries(paths)
    .filter(([path]) => path.startsWith('/api/'))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { summary, responses }]) => [
        method.toUpperCase(),
        code(path),
        Object.keys(responses)
          .filter((code) => code !== 'default')
          .join(', '),
        summary,
      ]),
    );
  return table(['method', 'path', 'success', 'what it does'], rows);
}
