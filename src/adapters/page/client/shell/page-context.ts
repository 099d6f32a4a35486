import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Calendar } from '../../../page-parts/words/times.ts'
import type { Store } from '../data/store.ts'

/** What every part of the page may ask for. */
export type Page = { readonly store: Store; readonly calendar: Calendar }

const Missing = createContext<Page | undefined>(undefined)
export const PageProvider = Missing.Provider

export function usePage(): Page {
  const page = useContext(Missing)
  if (page === undefined) throw new Error('outside of the page')
  return page
}

const Now = createContext<number | undefined>(undefined)
export const NowProvider = Now.Provider

/** The daemon's clock, each second; undefined while not connected: then nothing may be told in terms of now. */
export function useNow(): number | undefined {
  return useContext(Now)
}
