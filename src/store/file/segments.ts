import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing } from './durable-file.ts'

/**
 * The journal is a row of files, each named by its first record and begun where the one before it ends: the chain goes on
 * from file to file, so the MAC of a segment's last record stands for the whole of it and of all before it.
 */
export type Segment = { readonly file: string; readonly firstSeq: number }

const NAME_DIGITS = 12
const NAME = /^(\d{12})\.jsonl$/

/** The path of the segment in `dir` that begins with a record. */
export function segmentFile(dir: string, firstSeq: number): string {
  return join(dir, `${firstSeq.toString().padStart(NAME_DIGITS, '0')}.jsonl`)
}

/** The segments in a directory, oldest first; other files are nobody's business. None where there is no directory. */
export async function listSegments(dir: string): Promise<readonly Segment[]> {
  let names: readonly string[]
  try {
    names = await readdir(dir)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
  return names
    .flatMap((name) => {
      const digits = NAME.exec(name)?.[1]
      return digits === undefined
        ? []
        : [{ file: join(dir, name), firstSeq: Number.parseInt(digits, 10) }]
    })
    .sort((a, b) => a.firstSeq - b.firstSeq)
}

/** With those that were moved to an archive. What is in both places is read from the journal's own directory. */
export async function withArchive(
  own: readonly Segment[],
  archive: string | undefined,
): Promise<readonly Segment[]> {
  if (archive === undefined) return own
  const here = new Set(own.map(({ firstSeq }) => firstSeq))
  const moved = (await listSegments(archive)).filter(({ firstSeq }) => !here.has(firstSeq))
  return [...moved, ...own].sort((a, b) => a.firstSeq - b.firstSeq)
}

/** Those that a reader needs who knows everything up to `seq`: from the one that holds that record on. */
export function segmentsFrom(
  segments: readonly Segment[],
  seq: number,
): readonly Segment[] | undefined {
  const holding = segments.findLastIndex(({ firstSeq }) => firstSeq <= Math.max(seq, 1))
  if (holding >= 0) return segments.slice(holding)
  // Everything up to the snapshot may be in an archive.
  return segments[0]?.firstSeq === seq + 1 ? segments : undefined
}
