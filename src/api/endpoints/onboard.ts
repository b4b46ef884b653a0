import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { AppError, found, invalid, invalidFields } from '../../domain/errors.ts';
import { queryFlag } from '../../domain/pagination.ts';
import { multipartBoundary, parseMultipart } from '../../ingest/request/multipart.ts';
import { ONBOARD_CHUNK, type OnboardItem } from '../../jobs/onboard-job.ts';
import { parseCsv } from '../../platform/csv.ts';
import { Type } from '../../platform/type.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { getJob } from '../../store/jobs/jobs.ts';
import type { Call } from '../http/call.ts';
import type { ReadContext, SendContext } from '../http/context.ts';
import { operationsOf } from '../http/operation.ts';
import { unknownNames } from '../http/unknown-fields.ts';
import { Job, startedJob, startJob } from '../jobs/jobs.ts';
import { checkUrls } from './endpoint-input.ts';

/**
 * Creates many endpoints, each with its subscription, from JSON or a CSV file. All items are checked first,
 * then a job creates them.
 */
const MAX_ITEMS = 1_000;
const FIELDS = ['name', 'url', 'event_type', 'auth_username', 'auth_password'] as const;

const Cell = Type.Optional(Type.String({ maxLength: 2048 }));
const Item = Type.Object({
  name: Cell,
  url: Cell,
  event_type: Cell,
  auth_username: Cell,
  auth_password: Cell,
  line: Type.Optional(Type.Integer({ description: 'Its line in a file, for error messages.' })),
});
const OnboardRequest = Type.Object(
  { items: Type.Array(Item) },
  { description: 'At most 1,000 items; also as multipart/form-data with a CSV file in the field `file`.' },
);

const RowProblem = Type.Object({
  row: Type.Integer({ description: 'The number of the item, from 1.' }),
  line: Type.Optional(Type.Integer({ description: 'Its line in the CSV file.' })),
  field: Type.String(),
  message: Type.String(),
});
export const OnboardCheck = Type.Object({
  total_rows: Type.Integer(),
  valid_count: Type.Integer(),
  errors: Type.Array(RowProblem),
});
export const OnboardJob = Type.Object({
  ...Job.properties,
  batch_count: Type.Integer(),
  total_items: Type.Integer(),
  message: Type.String(),
});

type RowError = Static<typeof RowProblem>;

export function registerOnboard(app: FastifyInstance, context: SendContext): void {
  const isDryRun = (query: Call<unknown>['query']) => queryFlag(query, 'dry_run') ?? false;
  operationsOf('Endpoints').post(app, '/api/v1/projects/:projectID/onboard', {
    id: 'onboard',
    summary: 'Start a job that creates many endpoints with their subscriptions.',
    query: Type.Object({
      dry_run: Type.Optional(Type.Boolean({ description: 'Only check the items.' })),
    }),
    body: OnboardRequest,
    fromMultipart: (body, contentType) => ({ items: itemsOfCsv(body, contentType) }),
    acts: true,
    status: 202,
    message: 'Onboarding started',
    variant: ({ query }) => (isDryRun(query) ? { status: 200, message: 'Items checked' } : undefined),
    data: Type.Union([OnboardJob, OnboardCheck]),
    dataByStatus: { 202: OnboardJob, 200: OnboardCheck },
    access: 'developer',
    handle: async ({ project, body, query, by }, _request, reply) => {
      const items = body.items;
      if (items.length === 0) throw invalid('items', 'must not be empty');
      if (items.length > MAX_ITEMS) throw invalid('items', `must be at most ${MAX_ITEMS}`);
      const errors = items.flatMap((item, index) => problemsOf(context, project, { item, row: index + 1 }));
      const invalidRows = new Set(errors.map(({ row }) => row));
      const checked = { total_rows: items.length, valid_count: items.length - invalidRows.size, errors };
      if (isDryRun(query)) return checked;
      if (errors.length > 0) throw validationFailed(checked);
      const input = items as OnboardItem[];
      const wanted = { type: 'onboard' as const, input, isSecret: true, count: items.length };
      return onboardJob(await startJob(context, { by, reply }, wanted));
    },
    again: async ({ project }, { id }, reply) => {
      const row = found(await getJob(context.db, project.id, id), 'job', id);
      return onboardJob(await startedJob(context, reply, row));
    },
  });
}

function onboardJob(job: Static<typeof Job>): Static<typeof OnboardJob> {
  const items = job.total ?? 0;
  return {
    ...job,
    batch_count: Math.ceil(items / ONBOARD_CHUNK),
    total_items: items,
    message: `Job ${job.uid} creates the endpoints.`,
  };
}

function validationFailed(checked: Static<typeof OnboardCheck>): AppError {
  const [first] = checked.errors;
  const bad = checked.total_rows - checked.valid_count;
  const place = first?.line === undefined ? `row ${first?.row}` : `line ${first.line}`;
  const fields = `${bad} of ${checked.total_rows} items ${bad === 1 ? 'is' : 'are'} not valid; ${place}: ${first?.field} ${first?.message}`;
  return new AppError('validation_failed', { fields }, { data: checked });
}

function problemsOf(
  context: ReadContext,
  project: ProjectRow,
  { item, row }: { item: Static<typeof Item>; row: number },
): RowError[] {
  const errors: RowError[] = [];
  const place = { row, ...(item.line !== undefined && { line: item.line }) };
  const wrong = (field: string, message: string) => errors.push({ ...place, field, message });
  if (!item.name) wrong('name', 'is required');
  else if (item.name.length > 256) wrong('name', 'is longer than 256 characters');
  if (!item.url) wrong('url', 'is required');
  else {
    try {
      checkUrls(context, project.config, { name: item.name ?? '', url: item.url });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      wrong('url', error.message.replace(/^url: /, ''));
    }
  }
  if ((item.event_type ?? '').length > 256) wrong('event_type', 'is longer than 256 characters');
  if (Boolean(item.auth_username) !== Boolean(item.auth_password))
    wrong('auth_username/auth_password', 'must both be given, or neither');
  return errors;
}

function itemsOfCsv(body: Buffer, contentType: string): Static<typeof Item>[] {
  const boundary = multipartBoundary(contentType);
  const reading = boundary === null ? null : parseMultipart(body, boundary, { files: true });
  const file = reading?.kind === 'fields' ? reading.fields.find(([name]) => name === 'file') : undefined;
  if (file === undefined) throw invalid('file', 'must be a CSV file in a multipart/form-data body');
  const [header, ...rows] = parseCsv(file[1]) ?? [];
  const names = (header?.cells ?? []).map((name) => name.trim().toLowerCase());
  if (!names.includes('name') || !names.includes('url'))
    throw invalid('file', 'must be CSV whose first row names the columns, name and url among them');
  // A misspelt column `event_type` would subscribe to everything.
  const unknown = unknownNames('column', names, new Set(['', ...FIELDS]));
  if (unknown.length > 0) throw invalidFields(unknown.map((problem) => ({ field: 'file', problem })));
  return rows.map(({ line, cells }) => ({
    line,
    ...Object.fromEntries(FIELDS.map((field) => [field, cells[names.indexOf(field)] ?? ''])),
  }));
}
