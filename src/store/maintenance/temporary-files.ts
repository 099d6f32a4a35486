import { createHash, randomBytes } from 'node:crypto'
import { lstat, readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { checkProcess, identifyProcess } from '../lock/process-identity.ts'

/** `<place>.<where>-<pid>-<start ticks>-<random>.tmp`, plain or packed; `where` encodes machine, boot and namespace. */
const NAME = /\.(?:([0-9a-f]{8})-(\d{1,10})-(\d{1,20})-)?[0-9a-f]{12}\.tmp(?:\.tar)?$/
/** Leftovers of other machines or older versions are removed after this long: no copy takes a day. */
const ABANDONED_MS = 86_400_000

/** A temporary name that shows later processes whether its writer still runs. */
export function temporaryBeside(place: string): string {
  const own = identifyProcess(process.pid)
  const { pid, startTicks = '0' } = own
  return `${place}.${whereOf(own)}-${pid}-${startTicks}-${randomBytes(6).toString('hex')}.tmp`
}

/** Removes leftovers of killed processes; ignores what cannot be removed. */
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
    return checkProcess({ ...here, pid: Number(pid), startTicks }) === 'gone'
  const { mtimeMs } = await lstat(path).catch(() => ({ mtimeMs: nowMs }))
  return nowMs - mtimeMs > ABANDONED_MS
}

function whereOf({ host, machineId, bootId, namespace }: ReturnType<typeof identifyProcess>) {
  const where = JSON.stringify([host, machineId, bootId, namespace])
  return createHash('sha256').update(where).digest('hex').slice(0, 8)
}
