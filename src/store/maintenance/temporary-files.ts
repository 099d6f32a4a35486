import { createHash, randomBytes } from 'node:crypto'
import { lstat, readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { identifyProcess, judgeProcess } from '../process-identity.ts'

/** `<place>.<where>-<pid>-<start ticks>-<random>.tmp`, and the same packed; `where` stands for machine, boot and namespace. */
const NAME = /\.(?:([0-9a-f]{8})-(\d{1,10})-(\d{1,20})-)?[0-9a-f]{12}\.tmp(?:\.tar)?$/
/** What a process of somewhere else, or of an older version, has left is taken away after so long: no copy takes a day. */
const ABANDONED_MS = 86_400_000

/** A name for what is not whole yet, by which a later process can tell whether anybody is still at it. */
export function temporaryBeside(place: string): string {
  const own = identifyProcess(process.pid)
  const { pid, startTicks = '0' } = own
  return `${place}.${whereOf(own)}-${pid}-${startTicks}-${randomBytes(6).toString('hex')}.tmp`
}

/** Takes away what killed processes have left beside a place. What cannot be taken away stays. */
export async function removeAbandoned(place: string, nowMs: number): Promise<void> {
  const dir = dirname(place)
  for (const name of await readdir(dir).catch(() => [])) {
    const match = NAME.exec(name)
    if (match !== null && (await isAbandoned(join(dir, name), match, nowMs)))
      await rm(join(dir, name), { recursive: true, force: true }).catch(() => undefined)
  }
}

async function isAbandoned(path: string, match: RegExpExecArray, nowMs: number): Promise<boolean> {
  const [, where, pid, startTicks] = match
  const here = identifyProcess(process.pid)
  if (where === whereOf(here) && pid !== undefined)
    return judgeProcess({ ...here, pid: Number(pid), startTicks }) === 'gone'
  const { mtimeMs } = await lstat(path).catch(() => ({ mtimeMs: nowMs }))
  return nowMs - mtimeMs > ABANDONED_MS
}

function whereOf({ host, machineId, bootId, namespace }: ReturnType<typeof identifyProcess>) {
  const where = JSON.stringify([host, machineId, bootId, namespace])
  return createHash('sha256').update(where).digest('hex').slice(0, 8)
}
