import { count } from '../../page-parts/words/amounts.ts'

/** Rows of a long table that stand in the page as it is; the script shows so many at a time as somebody wants. */
export const STATIC_ROWS_MAX = 200

export type Page = { readonly page: number; readonly size: number }

/** How many pages so many rows take: one at least. */
export function pagesOf({ size }: Page, found: number): number {
  return Math.max(1, Math.ceil(found / size))
}

/** `1 to 25 of 312 rows, of 5,000`. */
export function rangeText({ page, size }: Page, found: number, total: number): string {
  const besides = found === total ? '' : `, of ${count(total)}`
  if (found === 0) return `No rows${besides}`
  const first = page * size + 1
  const last = Math.min(found, first + size - 1)
  return `${count(first)} to ${count(last)} of ${count(found)} rows${besides}`
}
