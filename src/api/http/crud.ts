import type { FastifyInstance } from 'fastify';
import type { Static, TProperties, TSchema } from 'typebox';
import { found } from '../../domain/errors.ts';
import type { ProjectId } from '../../domain/ids.ts';
import { type Page, type PageRequest, parsePageRequest } from '../../domain/pagination.ts';
import { Type } from '../../platform/type.ts';
import type { Database, Queryable } from '../../store/database/database.ts';
import type { Access } from './access/access.ts';
import type { Call } from './call.ts';
import { mapPage, Nothing, PageOf, pageQuery } from './fields.ts';
import { type Operation, operationsOf } from './operation.ts';
import { showRows } from './show-rows.ts';

type Reading<Path extends string> = Pick<
  Call<unknown, Path>,
  'project' | 'scope' | 'actor' | 'params' | 'warn'
>;
type View<Row, Data extends TSchema> = (row: Row) => Static<Data>;

/** A kind of thing that a project has, as its ordinary operations need it. */
interface Resource<Row, Data extends TSchema, Path extends string, Param extends string> {
  tag: string;
  /** One of them in words, such as `portal link`. */
  noun: string;
  path: Path;
  /** The parameter that names one, behind the path. */
  param: Param;
  data: Data;
  access: { read: Access; change: Access };
  /** Portal links may read it, and change it with the right `manage`. */
  isOpenToPortals?: true;
  /** Creations and updates can be checked without being made. */
  dryRun?: true;
  changes?: Operation<TSchema, Data>['changes'];
  /** For the read of one, and for the answer to a repeated creation. */
  get?(call: Reading<Path>, id: string): Promise<Row | undefined>;
  /** How rows are shown. All of a list are one read. */
  view(call: Reading<Path>, rows: readonly Row[]): View<Row, Data> | Promise<View<Row, Data>>;
  /** Warnings of the values of a row, for the answer with it alone. */
  warningsOf?(row: Row): readonly string[];
}

/** The parts of an operation that are not the ordinary ones. */
type Further<Body extends TSchema, Path extends string> = Partial<
  Omit<Operation<Body, TSchema, Path>, 'body' | 'handle' | 'again'>
>;

/** A change of one row, which the answer shows. */
interface Change<Row, Body extends TSchema, Path extends string> extends Further<Body, Path> {
  body: Body;
  make(call: Call<Static<Body>, Path>): Promise<Row>;
}

type ActOnOne<Row, Body extends TSchema, Path extends string> = Omit<Change<Row, Body, Path>, 'body'> & {
  id: string;
  summary: string;
  message: string;
  body?: Body;
};

interface Removal<Path extends string> extends Further<TSchema, Path> {
  make(call: Call<unknown, Path>): Promise<unknown>;
}

/** A list page by page. `filter` is read before the database is asked. */
interface Pages<Row, Path extends string, Filter> extends Omit<Further<TSchema, Path>, 'query'> {
  query?: TProperties;
  filter?(call: Call<unknown, Path>): Filter | Promise<Filter>;
  read(tx: Queryable, projectId: ProjectId, list: Filter & { page: PageRequest }): Promise<Page<Row>>;
}

/** A list of things that are few in a project. */
interface All<Row, Path extends string> extends Further<TSchema, Path> {
  read(call: Reading<Path>): Promise<readonly Row[]>;
}

/**
 * The five ordinary operations of a resource, each registered by a call. Their names, messages, status codes and rights
 * follow from the resource, and so does the answer to a repeated call. A call names what differs.
 */
export function crud<Row, Data extends TSchema, Path extends string, Param extends string>(
  app: FastifyInstance,
  db: Database,
  resource: Resource<Row, Data, Path, Param>,
) {
  const { noun, path, data } = resource;
  type OnePath = `${Path}/:${Param}`;
  const onePath: OnePath = `${path}/:${resource.param}`;
  const route = operationsOf(resource.tag);
  const usual = usualOf(resource);
  const show = async (call: Reading<Path>, row: Row): Promise<Static<Data>> => {
    call.warn(...(resource.warningsOf?.(row) ?? []));
    return (await resource.view(call, [row]))(row);
  };
  const read = async (call: Reading<Path>, id: string) =>
    show(call, found(await resource.get?.(call, id), noun, id));
  const idOf = ({ params }: { params: object }) =>
    (params as Readonly<Record<string, string>>)[resource.param] ?? '';
  return {
    create: <Body extends TSchema>({ make, ...further }: Change<Row, Body, Path>) =>
      route.post(app, path, {
        ...usual.create,
        ...further,
        data,
        handle: async (call) => show(call, await make(call)),
        again: (call, { id }) => read(call, id),
      }),
    pages: <Filter extends object>({ filter, read: rows, query, ...further }: Pages<Row, Path, Filter>) =>
      route.get(app, path, {
        ...usual.list,
        ...further,
        query: Type.Object({ ...pageQuery, ...query }),
        data: PageOf(data) as TSchema,
        handle: async (call) => {
          const page = parsePageRequest(call.query);
          const list = { page, ...((await filter?.(call)) as Filter) };
          const found = await db.reading(call.project.id, (tx) => rows(tx, call.project.id, list));
          return mapPage(found, await resource.view(call, found.rows));
        },
      }),
    all: ({ read: rows, ...further }: All<Row, Path>) =>
      route.get(app, path, {
        ...usual.list,
        ...further,
        data: Type.Array(data),
        handle: async (call) => {
          const all = await rows(call);
          return showRows(all, await resource.view(call, all));
        },
      }),
    get: (further: Further<TSchema, OnePath> = {}) =>
      route.get(app, onePath, {
        ...usual.get,
        ...further,
        data,
        handle: (call) => read(call as Reading<Path>, idOf(call)),
      }),
    update: <Body extends TSchema>({ make, ...further }: Change<Row, Body, OnePath>) =>
      route.put(app, onePath, {
        ...usual.update,
        ...further,
        data,
        handle: async (call) => show(call as Reading<Path>, await make(call)),
      }),
    /** An act on one row, which the answer shows. */
    act: <Body extends TSchema, Act extends string>(
      method: 'put' | 'post',
      act: Act,
      { make, ...operation }: ActOnOne<Row, Body, `${OnePath}/${Act}`>,
    ) =>
      route[method](app, `${onePath}/${act}` as const, {
        ...usual.act,
        ...operation,
        data,
        handle: async (call) => show(call as Reading<Path>, await make(call)),
      }),
    remove: ({ make, ...further }: Removal<OnePath>) =>
      route.delete(app, onePath, {
        ...usual.remove,
        ...further,
        data: Nothing,
        handle: async (call) => {
          await make(call);
          return null;
        },
      }),
  };
}

/** The words and rights of an operation. */
type Usual = Pick<
  Operation<TSchema, TSchema>,
  'id' | 'summary' | 'message' | 'status' | 'access' | 'portal' | 'changes' | 'dryRun'
>;
type Described = Pick<
  Resource<never, TSchema, string, string>,
  'noun' | 'access' | 'changes' | 'isOpenToPortals' | 'dryRun'
>;

function usualOf({ noun, access, changes, isOpenToPortals, dryRun }: Described) {
  const name = noun.split(' ').map(capital).join('');
  const Noun = capital(noun);
  const one = `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;
  const versions = changes && { changes };
  const reads: Pick<Usual, 'access' | 'portal' | 'changes'> = {
    access: access.read,
    ...(isOpenToPortals && { portal: 'read' }),
    ...versions,
  };
  const acts: Pick<Usual, 'access' | 'portal'> = {
    access: access.change,
    ...(isOpenToPortals && { portal: 'manage' }),
  };
  const writes = { ...acts, ...versions, ...(dryRun && { dryRun }) };
  const kept = 'Fields that are not named keep their value.';
  return {
    create: {
      id: `create${name}`,
      summary: `Create ${one}.`,
      message: `${Noun} created`,
      status: 201,
      ...writes,
    },
    list: { id: `list${name}s`, summary: `List ${noun}s.`, message: `${Noun}s fetched`, ...reads },
    get: { id: `get${name}`, summary: `Get ${one}.`, message: `${Noun} fetched`, ...reads },
    update: {
      id: `update${name}`,
      summary: `Update ${one}. ${kept}`,
      message: `${Noun} updated`,
      status: 202,
      ...writes,
    },
    act: { ...acts, ...versions },
    remove: { id: `delete${name}`, summary: `Delete ${one}.`, message: `${Noun} deleted`, ...acts },
  } satisfies Record<string, Partial<Usual>>;
}

const capital = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
