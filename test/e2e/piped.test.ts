import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { ROOT } from '../support/process/cli.ts'
import { BOUND, filledSlot, scheduled } from '../support/state/journal-events.ts'
import { openForTest, temporaryDirectory } from '../support/state/state-directory.ts'

/** Many times the capacity of a pipe in total. */
const FILLS = 2_000

/** Runs `tranched export` of many fills into a pipe without a reader so far. */
async function exporting() {
  const dir = temporaryDirectory()
  const { journal, close } = await openForTest(dir)
  const slots = Array.from({ length: FILLS }, (_, index) => filledSlot(10_000 + index))
  await journal.append(BOUND, scheduled(), ...slots.flat())
  await close()
  const args = ['dist/tranched.js', 'export', '--config', `${dir}/none.yaml`, '--state-dir', dir]
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return { child, ended: once(child, 'close'), stderr: text(child.stderr) }
}

test('piped output arrives whole, although the program finishes long before it is read', async () => {
  const { child, ended } = await exporting()
  // Only the pipe's own buffer comes before this; the rest is read to its end afterwards.
  await once(child.stdout, 'readable')
  const lines = (await text(child.stdout)).trimEnd().split('\n')
  expect(lines).toHaveLength(1 + FILLS)
  expect(lines.at(-1)).toContain(`weekly-eth:${10_000 + FILLS - 1}:0`)
  expect(await ended).toEqual([0, null])
})

test('a reader that closes the pipe early, as `head` does, causes no error', async () => {
  const { child, ended, stderr } = await exporting()
  await once(child.stdout, 'readable')
  child.stdout.destroy()
  expect(await ended).toEqual([0, null])
  expect(await stderr).not.toMatch(/EPIPE/)
})
