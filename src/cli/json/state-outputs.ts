import * as z from 'zod'
import * as s from '../../system/json-shapes.ts'
import { done, outcome } from './shapes.ts'

const proof = {
  format: z.literal([1, 2]).describe('of the journal'),
  records: s.count('found in order'),
  last: s.nullable('the newest record; null where there is none', {
    seq: s.count('its place in the journal'),
    at: s.time('when it was written'),
  }),
  missing: s.nullable('the oldest records, where they are not at hand; null where all are', {
    from: s.count('place of the first'),
    to: s.count('place of the last'),
  }),
  files: s.count('of the journal'),
  archived: s.count('of them in the archive'),
  macs: s.oneOf("who wrote it: the wallet's daemon, not checked without its key, or not signed", [
    'right',
    'unchecked',
    'none',
  ]),
  tornBytes: s.count('of an append that was cut short'),
  snapshotSeq: s.nullable('last record in state.json; null where it cannot be read', s.count()),
  faults: s.list('empty where nothing is missing or altered', {
    file: s.text('where'),
    detail: s.text('what is not as it was written'),
    remedy: s.text('what to do'),
  }),
}
const stateDir = s.text('path')
const structureOnly = s.nullable(
  'why the author was not checked; null where that was checked',
  s.text(),
)

export const verify = outcome({ stateDir, ...proof, structureOnly })
export type VerifyData = z.output<typeof verify>

export const rebuild = done({
  message: s.text('what was done'),
  stateDir,
  records: s.count('that state.json was made from'),
  kept: s.nullable('name of the state.json that was there; null where none was', s.text()),
})
export type RebuildData = z.output<typeof rebuild>

export const backup = done({
  stateDir,
  backup: s.text('what was written'),
  ...proof,
  structureOnly,
})
export type BackupData = z.output<typeof backup>

export const restore = outcome({
  message: s.text('what was done, or why nothing was'),
  stateDir,
  backup: s.object('what it proves of itself', { from: s.text('what was given'), ...proof }),
  movedTo: s.nullable('where is now what was there; null where nothing was moved', s.text()),
  objection: s.nullable(
    'what speaks against it and takes `--replace`; null where nothing does',
    s.text(),
  ),
  loses: s.nullable('records that the backup lacks; null where it lacks none that is known', {
    from: s.count('place of the first'),
    to: s.count('place of the last'),
    fromAt: s.time('when the first was written'),
    toAt: s.time('when the last was written'),
    authorizations: s.count('records of something that was to be signed'),
  }),
})
export type RestoreData = z.output<typeof restore>

export const stateNew = done({
  message: s.text('what was done'),
  keptAside: s.nullable('where is now what was there; null where there was nothing', s.text()),
})
export type StateNewData = z.output<typeof stateNew>

export const acceptLoss = done({ message: s.text('what was done') })
export type AcceptLossData = z.output<typeof acceptLoss>
export type ProofData = Omit<VerifyData, 'ok' | 'problems' | 'stateDir' | 'structureOnly'>
