import { useQuery } from '@tanstack/react-query';
import { useProject } from './project.ts';

const MOST = 100;

/** The first 100 endpoints of the project, to choose from and to name. */
export function useEndpointChoices() {
  const { api, id } = useProject();
  const { data } = useQuery({
    queryKey: [id, 'endpoint choices'],
    queryFn: () => api.endpoints.list({ perPage: MOST }).page(),
    staleTime: 30_000,
  });
  return { endpoints: data?.content ?? [], isAll: data?.pagination.has_next_page !== true };
}

/** The first 100 sources of the project. */
export function useSourceChoices() {
  const { api, id } = useProject();
  const { data } = useQuery({
    queryKey: [id, 'source choices'],
    queryFn: () => api.sources.list({ perPage: MOST }).page(),
    staleTime: 30_000,
  });
  return { sources: data?.content ?? [], isAll: data?.pagination.has_next_page !== true };
}

/** The clouds whose credentials of the machine the operator allows. */
export function useClouds(): readonly string[] | undefined {
  const { api, id } = useProject();
  const { data } = useQuery({ queryKey: [id, 'settings'], queryFn: () => api.projects.get(id) });
  return data?.workload_credentials;
}
