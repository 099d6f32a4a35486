import * as z from 'zod'
import { count, done, judged, list, text, time } from './shapes.ts'

/** Outputs of the commands that look after the state directory. */

const proof = {
  format: z.literal([1, 2]).describe('of the journal'),
  records: count().describe('found in order'),
  last: z
    .strictObject({
      seq: count().describe('its place in the journal'),
      at: time().describe('when it was written'),
    })
    .nullable()
    .describe('the newest record; null where there is none'),
  missing: z
    .strictObject({
      from: count().describe('place of the first'),
      to: count().describe('place of the last'),
    })
    .nullable()
    .describe('the oldest records, where they are not at hand; null where all are'),
  files: count().describe('of the journal'),
  archived: count().describe('of them in the archive'),
  macs: z
    .enum(['right', 'unchecked', 'none'])
    .describe(
      "who wrote it: the wallet's daemon, not checked for want of its key, or nobody signed it",
    ),
  tornBytes: count().describe('of an append that was cut short'),
  snapshotSeq: count()
    .nullable()
    .describe('last record in state.json; null where it cannot be read'),
  faults: list(
    z.strictObject({
      file: text().describe('where'),
      detail: text().describe('what is not as it was written'),
      remedy: text().describe('what to do'),
    }),
  ).describe('empty where nothing is missing or altered'),
}
const stateDir = () => text().describe('path')
const structureOnly = () =>
  text().nullable().describe('why nobody could check who wrote it; null where that was checked')

export const verify = judged({ stateDir: stateDir(), ...proof, structureOnly: structureOnly() })
export type VerifyData = z.output<typeof verify>

export const rebuild = done({
  message: text().describe('what was done'),
  stateDir: stateDir(),
  records: count().describe('that state.json was made from'),
  kept: text().nullable().describe('name of the state.json that was there; null where none was'),
})
export type RebuildData = z.output<typeof rebuild>

export const backup = done({
  stateDir: stateDir(),
  backup: text().describe('what was written'),
  ...proof,
  structureOnly: structureOnly(),
})
export type BackupData = z.output<typeof backup>

export const restore = judged({
  message: text().describe('what was done, or why nothing was'),
  stateDir: stateDir(),
  backup: z
    .strictObject({ from: text().describe('what was given'), ...proof })
    .describe('what it proves of itself'),
  movedTo: text().nullable().describe('where is now what was there; null where nothing was moved'),
  objection: text()
    .nullable()
    .describe('what speaks against it and takes `--replace`; null where nothing does'),
  loses: z
    .strictObject({
      from: count().describe('place of the first'),
      to: count().describe('place of the last'),
      fromAt: time().describe('when the first was written'),
      toAt: time().describe('when the last was written'),
      authorizations: count().describe('records of something that was to be signed'),
    })
    .nullable()
    .describe('records that the backup lacks; null where it lacks none that is known'),
})
export type RestoreData = z.output<typeof restore>

export const stateNew = done({
  message: text().describe('what was done'),
  keptAside: text()
    .nullable()
    .describe('where is now what was there; null where there was nothing'),
})
export type StateNewData = z.output<typeof stateNew>

export const acceptLoss = done({ message: text().describe('what was done') })
export type AcceptLossData = z.output<typeof acceptLoss>
export type ProofData = Omit<VerifyData, 'ok' | 'problems' | 'stateDir' | 'structureOnly'>
