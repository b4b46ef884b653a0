import { type FieldProblem, invalidFields } from '../../domain/errors.ts';

/** Collects the problems of a request, so that the response names every bad field at once. */
export class Problems {
  readonly #found: FieldProblem[] = [];

  add(field: string, problem: string): void {
    this.#found.push({ field, problem });
  }

  /** The text, which must not be empty. */
  text(field: string, value: string | undefined): string {
    if (value === undefined || value === '') this.add(field, 'is required');
    return value ?? '';
  }

  throwIfAny(): void {
    if (this.#found.length > 0) throw invalidFields(this.#found);
  }
}
