import { useParams } from '@tanstack/react-router';
import type { Posthorn } from 'posthorn-client';
import { createContext, useContext, useMemo } from 'react';
import { apiOf, type Me } from './session.ts';

export const MeContext = createContext<Me>({ person: null, instance_admin: false, projects: [] });
export const useMe = (): Me => useContext(MeContext);

interface Project {
  id: string;
  name: string;
  api: Posthorn;
  /** The address of a page of the project. */
  at(page: string): string;
}

/** The address of a page of a project. */
export const pageOf = (project: string, page: string): string => `/p/${encodeURIComponent(project)}/${page}`;

/** The project of the address. */
export function useProject(): Project {
  const { project = '' } = useParams({ strict: false }) as { project?: string };
  const { projects } = useMe();
  return useMemo(
    () => ({
      id: project,
      name: projects.find(({ uid }) => uid === project)?.name ?? project,
      api: apiOf(project),
      at: (page) => pageOf(project, page),
    }),
    [project, projects],
  );
}

const LAST = 'posthorn.project';
export const rememberProject = (id: string): void => localStorage.setItem(LAST, id);
export const lastProject = (): string | null => localStorage.getItem(LAST);
