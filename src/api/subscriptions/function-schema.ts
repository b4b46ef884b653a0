import { nullable, Type } from '../../platform/type.ts';

const Texts = (description: string) => Type.Record(Type.String(), Type.String(), { description });

/** The parts of a request that a function set, for people: without credentials and values of variables. */
export const FunctionRequest = Type.Object({
  set_headers: Texts('Headers that the function set.'),
  set_path: nullable(Type.String(), 'Path of the URL. Null: not set.'),
  set_query: Texts('Parameters of the URL that the function set.'),
});

export const FunctionLimits = Type.Object({
  cpu_ms: Type.Integer(),
  heap_bytes: Type.Integer(),
  output_bytes: Type.Integer(),
  heap_used_bytes: Type.Integer(),
});
