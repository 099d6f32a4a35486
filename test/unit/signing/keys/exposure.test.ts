import * as inspector from 'node:inspector'
import { expect, test } from 'vitest'
import { exposure } from '../../../../src/signing/keys/exposure.ts'

test.each([
  ['--inspect', '--inspect'],
  ['--max-old-space-size=512 --inspect-brk=0.0.0.0:9229', '--inspect-brk'],
  ['--inspect_port=0', '--inspect-port'],
  ['--debug-port=9230', '--debug-port'],
  ['"--inspect-wait"', '--inspect-wait'],
  ['--heapsnapshot-signal=SIGUSR2', '--heapsnapshot-signal'],
  ['--heapsnapshot-near-heap-limit=1', '--heapsnapshot-near-heap-limit'],
  ['--report-on-signal', '--report-on-signal'],
  ['--abort-on-uncaught-exception', '--abort-on-uncaught-exception'],
])('rejects NODE_OPTIONS with %s and names the flag', async (NODE_OPTIONS, flag) => {
  expect(await exposure({ NODE_OPTIONS })).toEqual({
    ok: false,
    message: `NODE_OPTIONS has ${flag}: others could read a key in the memory of this process`,
    remedy: `take ${flag} out of NODE_OPTIONS, and start again`,
  })
})

test.each([
  undefined,
  '',
  '--disable-sigusr1 --enable-source-maps',
  '--import=./inspect.mjs --max-semi-space-size=64',
])('accepts NODE_OPTIONS of %s, which exposes no memory', async (NODE_OPTIONS) => {
  expect(await exposure({ NODE_OPTIONS })).toBeUndefined()
})

test('rejects an open debugger, however it was opened', async () => {
  inspector.open(0, '127.0.0.1')
  try {
    expect(await exposure({})).toMatchObject({
      message: expect.stringMatching(/^the debugger of Node is open: /),
    })
  } finally {
    inspector.close()
  }
  expect(await exposure({})).toBeUndefined()
})
