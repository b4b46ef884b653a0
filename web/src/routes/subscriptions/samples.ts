import { useQuery } from '@tanstack/react-query';
import { useProject } from '../../data/project.ts';
import type { Sample } from './filter-keys.ts';

const SAMPLES = 50;

/** The latest events, for what the editors suggest. */
export function useSamples(): readonly Sample[] {
  const { api, id } = useProject();
  const { data } = useQuery({
    queryKey: [id, 'samples'],
    queryFn: () => api.events.list({ perPage: SAMPLES }).page(),
    staleTime: 60_000,
  });
  return data?.content.map(({ data: body, headers }) => ({ body, headers })) ?? [];
}
