import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';

/** Compares answers of the service with openapi.json. A schema is compiled when its first answer comes. */
interface Document {
  paths: Record<string, Record<string, { responses: Record<string, Content> }>>;
}
interface Content {
  content?: Record<string, unknown>;
}

const DOCUMENT = join(import.meta.dirname, '../../../openapi.json');

class Answers {
  readonly #ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  readonly #operations: { method: string; pattern: RegExp; pointer: string; responses: object }[];
  readonly #validators = new Map<string, ValidateFunction>();

  constructor(document: Document) {
    this.#ajv.addSchema(document, 'openapi');
    const paths = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { responses }]) => ({
        method: method.toUpperCase(),
        pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}/?$`),
        pointer: `openapi#/paths/${encodeURIComponent(path.replaceAll('/', '~1'))}/${method}/responses`,
        parameters: path.split('{').length,
        responses,
      })),
    );
    // A path without parameters goes before one with them.
    this.#operations = paths.toSorted((a, b) => a.parameters - b.parameters);
  }

  /** Empty if the document allows the answer, or has no such operation. */
  problems(method: string, url: string, answer: { status: number; body: unknown }): string[] {
    const { pathname } = new URL(url);
    const operation = this.#operations.find((each) => each.method === method && each.pattern.test(pathname));
    if (operation === undefined) return [];
    const isDeclared = Object.hasOwn(operation.responses, answer.status);
    if (!isDeclared && answer.status < 400) return [`the status ${answer.status} is not declared`];
    const status = isDeclared ? String(answer.status) : 'default';
    const validate = this.#validator(`${operation.pointer}/${status}/content/application~1json/schema`);
    if (validate(answer.body)) return [];
    return (validate.errors ?? []).map(({ instancePath, message, params }) =>
      [instancePath, message, JSON.stringify(params)].join(' '),
    );
  }

  #validator(pointer: string): ValidateFunction {
    const known = this.#validators.get(pointer) ?? this.#ajv.compile({ $ref: pointer });
    this.#validators.set(pointer, known);
    return known;
  }
}

let answers: Answers | undefined;

export function answerProblems(
  method: string,
  url: string,
  answer: { status: number; body: unknown },
): string[] {
  answers ??= new Answers(JSON.parse(readFileSync(DOCUMENT, 'utf8')) as Document);
  return answers.problems(method, url, answer);
}
