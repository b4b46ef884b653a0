import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import type { Author } from '../../control/config-changes.ts';
import { createProject, deleteProject, updateProject } from '../../control/project-changes.ts';
import { CONFIG_VERSION_HEADER } from '../../domain/audit.ts';
import { ProjectConfig } from '../../domain/config/project-config.ts';
import { clouds } from '../../domain/config/workload.ts';
import { AppError, found } from '../../domain/errors.ts';
import { asId, type ProjectId } from '../../domain/ids.ts';
import { roles } from '../../domain/role.ts';
import { checkUsableSchema } from '../../json-schema/check-usable-schema.ts';
import { nullable, oneOf, RequiredText, Text, Type } from '../../platform/type.ts';
import { listApiKeys } from '../../store/config/api-keys.ts';
import { listSchemas } from '../../store/config/event-types.ts';
import { getConfigVersion, isNameTaken, type ProjectRow, wholeConfig } from '../../store/config/projects.ts';
import { rowTimes } from '../../store/database/row-times.ts';
import { newestEventId } from '../../store/history/events.ts';
import { roleOf } from '../http/access/access.ts';
import { overCells } from '../http/access/over-cells.ts';
import { checkUrl } from '../http/check-settings.ts';
import type { ApiContext, ReadContext } from '../http/context.ts';
import { Nothing, times } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { showRows } from '../http/show-rows.ts';
import { updated } from '../http/updated.ts';
import { compileViewerView } from '../http/viewer-view.ts';
import { NewApiKey, toApiKey } from './api-keys.ts';
import { baseOf } from './merge-strategy.ts';
import { mergeProjectConfig, PartialProjectConfig } from './project-config-input.ts';
import { newVariables, shownVariables, Variables } from './variables.ts';

export const ProjectStatistics = Type.Object(
  {
    events_exist: Type.Boolean(),
    sources_exist: Type.Boolean(),
    endpoints_exist: Type.Boolean(),
    subscriptions_exist: Type.Boolean(),
  },
  { description: 'The kinds of things that the project has. Only the read of one project shows them.' },
);

export const Project = Type.Object({
  uid: Type.String(),
  name: Type.String(),
  type: Type.String(),
  logo_url: Type.String(),
  organisation_id: Type.String(),
  config: ProjectConfig,
  variables: Variables,
  workload_credentials: Type.Array(oneOf(clouds), {
    description:
      'Clouds whose [credentials of the machine](brokers.md#credentials-of-the-machine) the operator allows.',
  }),
  statistics: nullable(ProjectStatistics),
  retained_events: Type.Integer(),
  ...times,
});

export const ListedProject = Type.Object({
  ...Project.properties,
  role: oneOf(roles, 'The role of the caller in the project.'),
});

const CreateProject = Type.Object({
  name: RequiredText(256),
  type: oneOf(['outgoing', 'incoming'], 'A label without effect: both kinds can do everything.'),
  logo_url: Type.Optional(Text(2048)),
  config: Type.Optional(PartialProjectConfig),
  variables: Type.Optional(Variables),
  cell: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'The cell that it is made in, by name. Default: the one with the fewest projects.',
    }),
  ),
});

const UpdateProject = Type.Object({
  name: Type.Optional(RequiredText(256)),
  logo_url: Type.Optional(Text(2048)),
  config: Type.Optional(PartialProjectConfig),
  variables: Type.Optional(Variables),
});

/** Convoy's clients send it. */
const organisationQuery = Type.Object({
  orgID: Type.Optional(Type.String({ description: 'Has no effect: there are no organisations.' })),
});

type Shown = Pick<ReadContext, 'workload'>;

function toProject(row: ProjectRow, { workload }: Shown): Static<typeof Project> {
  return {
    uid: row.id,
    name: row.name,
    type: row.type,
    logo_url: row.logo_url,
    organisation_id: '',
    config: wholeConfig(row),
    variables: shownVariables(row),
    workload_credentials: [...workload],
    statistics: null,
    retained_events: 0,
    ...rowTimes(row),
  };
}

const viewerView = compileViewerView(Project);
const asViewer = (row: ProjectRow, shown: Shown) =>
  viewerView(toProject(row, shown), { hidesPayload: false }) as Static<typeof Project>;

export function registerProjects(app: FastifyInstance, context: ApiContext): void {
  const route = operationsOf('Projects');
  route.get(app, '/api/v1/projects', {
    id: 'listProjects',
    summary: 'List the projects that the caller may use.',
    query: organisationQuery,
    message: 'Projects fetched',
    data: Type.Array(ListedProject),
    access: 'any',
    handle: async ({ caller }, request) => {
      const rows = await overCells(context, request, ({ projects, db }) => projects.list(db));
      rows.sort((a, b) => (a.id < b.id ? 1 : -1));
      // The roles of a person differ from project to project.
      const open = rows.flatMap((row) => {
        const role = roleOf(caller, row.id);
        return role === null ? [] : [{ id: row.id, row, role }];
      });
      return showRows(open, ({ row, role }) => ({
        ...(role === 'viewer' ? asViewer(row, context) : toProject(row, context)),
        role,
      }));
    },
  });
  route.post(app, '/api/v1/projects', {
    id: 'createProject',
    summary: 'Create a project and its first key.',
    query: organisationQuery,
    body: CreateProject,
    status: 201,
    message: 'Project created',
    data: Type.Object({ project: Project, api_key: NewApiKey }),
    resource: Project,
    access: 'instance',
    handle: async ({ body, actor }) => {
      checkMetaUrl(context, body.config);
      const { config = {}, variables, cell, ...wanted } = body;
      const onceId = actor.type === 'instance' ? undefined : actor.once?.id;
      const { changes } = await context.cells.forNew({ name: body.name, cell, onceId });
      const made = await createProject(changes, {
        ...wanted,
        actor,
        variables: newVariables(undefined, variables),
        configure: (defaults) => mergeProjectConfig(baseOf(defaults, config), config, context),
      });
      return {
        project: toProject(made.project, context),
        api_key: { ...toApiKey(made.apiKey.row), key: made.apiKey.key },
      };
    },
    again: async ({ body: { name, cell }, actor }, { ids: [id = '', keyId = ''], secret }) => {
      const onceId = actor.type === 'instance' ? undefined : actor.once?.id;
      const { projects, db } = await context.cells.forNew({ name, cell, onceId });
      const project = await projects.get(db, asId(id));
      if (project === undefined) throw new AppError('project_not_found', { id });
      const row = (await listApiKeys(db, id)).find((one) => one.id === keyId);
      const api_key = { ...toApiKey(found(row, 'key', keyId)), key: secret ?? '' };
      return { project: toProject(project, context), api_key };
    },
  });
  route.get(app, '/api/v1/projects/:projectID', {
    id: 'getProject',
    summary: 'Get a project.',
    message: 'Project fetched',
    data: Project,
    access: 'viewer',
    handle: async ({ project: { id } }, _request, reply) => {
      // Read before the rest, so that a change in between makes it too old and not too new. The cache may be behind.
      const version = await getConfigVersion(context.db, id);
      const project = await context.projects.get(context.db, id);
      if (version === undefined || project === undefined) throw new AppError('project_not_found', { id });
      reply.header(CONFIG_VERSION_HEADER, version);
      return { ...toProject(project, context), statistics: await statisticsOf(context, id) };
    },
  });
  route.put(app, '/api/v1/projects/:projectID', {
    id: 'updateProject',
    alsoPost: true,
    summary: 'Update a project. Fields that are not named keep their value.',
    body: UpdateProject,
    status: 202,
    message: 'Project updated',
    data: Project,
    dryRun: true,
    access: 'admin',
    handle: ({ by, body }) => update(context, by, body),
  });
  route.delete(app, '/api/v1/projects/:projectID', {
    id: 'deleteProject',
    summary: 'Delete a project. Its keys stop working at once.',
    message: 'Project deleted',
    data: Nothing,
    access: 'admin',
    handle: ({ by }) => deleteProject(context.changes, by),
  });
}

async function statisticsOf(
  { db, cache }: ReadContext,
  id: ProjectId,
): Promise<Static<typeof ProjectStatistics>> {
  const [{ endpoints, sources, subscriptions }, newest] = await Promise.all([
    cache.refresh(id),
    newestEventId(db, id),
  ]);
  return {
    events_exist: newest !== '',
    sources_exist: sources.size > 0,
    endpoints_exist: [...endpoints.values()].some(({ row }) => row.delivery !== 'device'),
    subscriptions_exist: subscriptions.size > 0,
  };
}

function checkMetaUrl(context: ReadContext, config: PartialProjectConfig | undefined): void {
  const url = config?.meta_event?.url ?? '';
  if (url !== '') checkUrl(context, 'config.meta_event.url', url);
}

/** Checks begin only if every schema can be used for them. */
async function checkSchemas(
  { db }: ReadContext,
  { projectId }: Author,
  { schema_check = 'off' }: PartialProjectConfig = {},
): Promise<void> {
  if (schema_check === 'off') return;
  for (const { name, text } of await listSchemas(db, projectId)) {
    const field = `config.schema_check: the schema of ${name}`;
    checkUsableSchema({ schema_check }, JSON.parse(text) as Record<string, unknown>, field);
  }
}

/** The database keeps the names of its own cell apart. A cell that does not answer is left out. */
async function refuseNameElsewhere(
  { cells, db, projects }: ReadContext,
  { projectId }: Author,
  name: string | undefined,
): Promise<void> {
  const others = cells.all().filter((cell) => cell.db !== db);
  if (name === undefined || others.length === 0) return;
  if ((await projects.get(db, projectId))?.name === name) return;
  const taken = await Promise.allSettled(others.map((cell) => isNameTaken(cell.db, name)));
  if (taken.some((one) => one.status === 'fulfilled' && one.value))
    throw new AppError('name_taken', { resource: 'project', name });
}

async function update(
  context: ApiContext,
  by: Author,
  body: Static<typeof UpdateProject>,
): Promise<Static<typeof Project>> {
  checkMetaUrl(context, body.config);
  await checkSchemas(context, by, body.config);
  await refuseNameElsewhere(context, by, body.name);
  const row = await updateProject(context.changes, by, (project) => {
    // A replaced secret need not be opened.
    const isReplaced = typeof body.config?.meta_event?.secret === 'string';
    const known = isReplaced ? project.config : wholeConfig(project);
    const config = mergeProjectConfig(known, body.config ?? {}, context);
    const { variables, ...fields } = body;
    const after = updated(project, UpdateProject, { ...fields, config });
    return { ...after, variables: newVariables(project.variables, variables) };
  });
  return toProject(row, context);
}
