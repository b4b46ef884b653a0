import type { ProjectConfig } from '../domain/config/project-config.ts';
import { invalid } from '../domain/errors.ts';
import { compileSchema } from './compile-schema.ts';

/** In a project that has its payloads checked, every schema must be one that can be. */
export function checkUsableSchema(
  { schema_check }: Pick<ProjectConfig, 'schema_check'>,
  schema: Record<string, unknown> | null | undefined,
  field: string,
): void {
  if (schema_check === 'off' || schema === null || schema === undefined) return;
  const compiled = compileSchema(schema);
  if (typeof compiled === 'string') throw invalid(field, `payloads cannot be checked by it: ${compiled}`);
}
