import { expect, test } from 'vitest'
import type { Daemon } from '../../../../src/ui/page/client/data/daemon-requests.ts'
import { Store } from '../../../../src/ui/page/client/data/store.ts'
import type { Overview } from '../../../../src/ui/page/model.ts'
import { PageRig } from '../../../support/page/page-rig.ts'

const SMALL = { strategies: 3, fills: 250, orders: 2 }

function daemonOf(rig: PageRig, part: Partial<Daemon> = {}): Daemon {
  return {
    overview: async () => rig.overview(),
    strategies: async () => [...rig.strategies()],
    fills: async ({ limit, before, strategy }) =>
      rig.fills({ limit, before: before ?? null, strategy: strategy ?? null }),
    holdings: async (range) => rig.holdings(range),
    ...part,
  }
}

async function loaded(rig: PageRig, part: Partial<Daemon> = {}): Promise<Store> {
  const store = new Store(daemonOf(rig, part), () => 0)
  await store.refresh()
  store.setLink({ tag: 'live' })
  return store
}

test('a change replaces the overview and the named rows, and adds its fills on top', async () => {
  const rig = new PageRig(SMALL)
  const store = await loaded(rig)
  const change = rig.tick()
  store.take(change)
  expect(store.overview?.revision).toBe(change.overview.revision)
  expect(store.strategies.get(change.strategies[0]?.name ?? '')).toBe(change.strategies[0])
  expect(store.fills.loaded.at(0)).toBe(change.fills[0])
  expect(store.fresh).toEqual(new Set([change.fills[0]?.intentId]))
})

test('a change during a refresh is not overwritten by older responses', async () => {
  const rig = new PageRig(SMALL)
  let answer = (_: Overview) => {}
  const late = new Promise<Overview>((resolve) => {
    answer = resolve
  })
  const store = new Store(daemonOf(rig, { overview: () => late }), () => 0)
  const before = rig.overview()
  const refreshed = store.refresh()
  const change = rig.tick()
  store.take(change)
  answer(before)
  await refreshed
  expect(store.overview?.revision).toBe(change.overview.revision)
  expect(store.fills.loaded.at(0)?.intentId).toBe(change.fills[0]?.intentId)
})

test('a delayed change does not overwrite newer responses', async () => {
  const rig = new PageRig(SMALL)
  const old = rig.tick()
  rig.tick()
  const store = await loaded(rig)
  const { revision } = rig.overview()
  store.take(old)
  expect(store.overview?.revision).toBe(revision)
})

test('a restarted daemon replaces all data of the previous daemon', async () => {
  const first = new PageRig(SMALL)
  const second = new PageRig({ ...SMALL, seed: 'another', fills: 4 })
  second.change({ startedAtMs: 5 })
  let rig = first
  const store = await loaded(first, {
    overview: async () => rig.overview(),
    fills: async ({ limit }) => rig.fills({ limit, before: null, strategy: null }),
  })
  expect(store.fills.loaded.size).toBe(100)
  rig = second
  await store.refresh()
  expect(store.fills.loaded.size).toBe(4)
})

test('a failed refresh keeps the known data', async () => {
  const rig = new PageRig(SMALL)
  let fails = false
  const store = await loaded(rig, {
    strategies: async () => {
      if (fails) throw new Error('The daemon does not answer.')
      return [...rig.strategies()]
    },
  })
  fails = true
  await expect(store.refresh()).rejects.toThrow()
  expect(store.strategies.size).toBe(3)
  store.take(rig.tick())
  expect(store.overview?.revision).toBe(2)
})

test('older fills load in growing pages without a gap, to the end', async () => {
  const rig = new PageRig(SMALL)
  const limits: number[] = []
  const store = await loaded(rig, {
    fills: async ({ limit, before }) => {
      limits.push(limit)
      return rig.fills({ limit, before: before ?? null, strategy: null })
    },
  })
  for (let page = 0; page < 6; page += 1) await store.loadOlder(store.fills)
  expect(limits).toEqual([100, 100, 200])
  const all = rig.fills({ limit: 1_000, before: null, strategy: null }).fills
  expect(Array.from(all, (_, index) => store.fills.loaded.at(index))).toEqual(all)
  expect(store.fills.loaded.next).toBeNull()
})

test('a failed page is reported and can be requested again', async () => {
  const rig = new PageRig(SMALL)
  const store = await loaded(rig)
  const broken = new Store(
    daemonOf(rig, { fills: () => Promise.reject(new Error('The daemon does not answer.')) }),
    () => 0,
  )
  await broken.loadOlder(broken.fills)
  expect(broken.fills).toMatchObject({ loading: false, problem: 'The daemon does not answer.' })
  await store.loadOlder(store.fills)
  expect(store.fills.problem).toBeUndefined()
})

test('the list of one strategy adds only its own fills', async () => {
  const rig = new PageRig(SMALL)
  const store = await loaded(rig)
  store.chooseFills('slices')
  store.chooseFills('weekly-eth')
  await Promise.resolve()
  await new Promise((resolve) => setImmediate(resolve))
  const list = store.chosenFills ?? expect.fail('no list')
  const before = list.loaded.size
  const change = rig.tick(20)
  store.take(change)
  const own = change.fills.filter(({ strategy }) => strategy === 'weekly-eth')
  expect(own.length).toBeGreaterThan(0)
  expect(list.loaded.size).toBe(before + own.length)
  expect(list.loaded.at(0)).toBe(own[0])
})

test("times follow the daemon's clock, even if the local clock is wrong", async () => {
  const rig = new PageRig(SMALL)
  const store = await loaded(rig)
  expect(store.daemonNow()).toBe(store.overview?.atMs)
  expect(store.byDaemon(-1_000)).toBe((store.overview?.atMs ?? 0) - 1_000)
})

test('a halt is announced at once, and fills at most every fifteen seconds', async () => {
  const rig = new PageRig(SMALL)
  let nowMs = 0
  const store = new Store(daemonOf(rig), () => nowMs)
  await store.refresh()
  const announcements: string[] = []
  const take = (change: ReturnType<PageRig['tick']>) => {
    store.take(change)
    if (announcements.at(-1) !== store.announcement) announcements.push(store.announcement)
  }
  for (nowMs = 0; nowMs < 29_000; nowMs += 1_000) take(rig.tick())
  expect(announcements).toHaveLength(2)
  expect(announcements[1]).toMatch(/^15 fills\. The last: /)
  take(rig.change({ halted: { sinceMs: 1, cause: 'operator', detail: 'by hand' } }))
  expect(announcements.at(-1)).toBe('Halted: operator. by hand')
})

test('a change that may miss fills triggers a request for the newest', async () => {
  const rig = new PageRig(SMALL)
  const store = await loaded(rig)
  const change = rig.tick(150)
  store.take({ ...change, fills: change.fills.slice(0, 100) })
  await new Promise((resolve) => setImmediate(resolve))
  const { fills } = rig.fills({ limit: 100, before: null, strategy: null })
  expect(Array.from(fills, (_, index) => store.fills.loaded.at(index))).toEqual(fills)
  expect(store.fills.loaded.next).toBe(fills.at(-1)?.intentId)
})

test('a change during that request hides no gap', async () => {
  const rig = new PageRig(SMALL)
  const store = await loaded(rig)
  const many = rig.tick(150)
  store.take({ ...many, fills: many.fills.slice(0, 100) })
  store.take(rig.tick())
  await new Promise((resolve) => setImmediate(resolve))
  const { fills } = rig.fills({ limit: store.fills.loaded.size, before: null, strategy: null })
  expect(Array.from(fills, (_, index) => store.fills.loaded.at(index))).toEqual(fills)
})
