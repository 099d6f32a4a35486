import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ifThere } from '../../system/durable-file.ts'

/** A journal file, named by its first record. The chain continues across files, so a MAC covers earlier files. */
export type Segment = { readonly file: string; readonly firstSeq: number }

const NAME_DIGITS = 12
const NAME = /^(\d{12})\.jsonl$/

export function segmentFile(dir: string, firstSeq: number): string {
  return join(dir, `${firstSeq.toString().padStart(NAME_DIGITS, '0')}.jsonl`)
}

/** The side file of a journal file, in the same directory: derived from it, and never needed. */
export function sideFileOf(segmentFile: string): string {
  return segmentFile.replace(/\.jsonl$/, '.index')
}

/** The segments in a directory, oldest first. Other files are ignored; a missing directory is empty. */
export async function listSegments(dir: string): Promise<readonly Segment[]> {
  const names = (await ifThere(readdir(dir))) ?? []
  return names
    .flatMap((name) => {
      const digits = NAME.exec(name)?.[1]
      return digits === undefined
        ? []
        : [{ file: join(dir, name), firstSeq: Number.parseInt(digits, 10) }]
    })
    .sort((a, b) => a.firstSeq - b.firstSeq)
}

/** Adds archived segments. If a segment is in both places, the journal's own directory wins. */
export async function withArchive(
  own: readonly Segment[],
  archive: string | undefined,
): Promise<readonly Segment[]> {
  if (archive === undefined) return own
  const here = new Set(own.map(({ firstSeq }) => firstSeq))
  const moved = (await listSegments(archive)).filter(({ firstSeq }) => !here.has(firstSeq))
  return [...moved, ...own].sort((a, b) => a.firstSeq - b.firstSeq)
}

export function segmentsFrom(
  segments: readonly Segment[],
  seq: number,
): readonly Segment[] | undefined {
  const holding = segments.findLastIndex(({ firstSeq }) => firstSeq <= Math.max(seq, 1))
  if (holding >= 0) return segments.slice(holding)
  // All records up to the snapshot may be archived.
  return segments[0]?.firstSeq === seq + 1 ? segments : undefined
}
