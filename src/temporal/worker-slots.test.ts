import { describe, expect, it } from 'vitest';
import { createLendableSlots } from './worker-slots.ts';

const context = {
  slotType: 'activity',
  taskQueue: 'q',
  workerIdentity: 'w',
  workerBuildId: 'b',
  isSticky: false,
} as const;

function slotsOf(count: number) {
  const { supplier, lend } = createLendableSlots(count);
  const abort = new AbortController();
  let got = 0;
  const reserve = async () => {
    await supplier.reserveSlot(context, abort.signal);
    got += 1;
  };
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return { supplier, lend, abort, reserve, settled, got: () => got };
}

describe('slots of a worker', () => {
  it('are no more than there are, and one that is given back goes to who waits longest', async () => {
    const { supplier, reserve, settled, got } = slotsOf(2);
    const waiting = [reserve(), reserve(), reserve(), reserve()];
    await settled();
    expect(got()).toBe(2);
    expect(supplier.tryReserveSlot(context)).toBeNull();
    supplier.releaseSlot({ permit: {} });
    await waiting[2];
    expect(got()).toBe(3);
  });

  it('that are lent are free for others until they are taken back', async () => {
    const { lend, reserve, settled, got, supplier } = slotsOf(1);
    void reserve();
    void reserve();
    await settled();
    expect(got()).toBe(1);
    const takeBack = lend();
    await settled();
    expect(got()).toBe(2);
    takeBack();
    supplier.releaseSlot({ permit: {} });
    expect(supplier.tryReserveSlot(context)).toBeNull();
    supplier.releaseSlot({ permit: {} });
    expect(supplier.tryReserveSlot(context)).not.toBeNull();
  });

  it('are ten activities each at most, however many are lent', async () => {
    const { lend, supplier } = slotsOf(2);
    let issued = 0;
    while (issued < 100 && supplier.tryReserveSlot(context) !== null) {
      issued += 1;
      lend();
    }
    expect(issued).toBe(20);
  });

  it('are not waited for any more once the worker stops', async () => {
    const { abort, reserve, supplier, got, settled } = slotsOf(1);
    await reserve();
    const late = reserve();
    abort.abort(new Error('stopping'));
    await expect(late).rejects.toThrow('stopping');
    supplier.releaseSlot({ permit: {} });
    await settled();
    expect(got()).toBe(1);
    expect(supplier.tryReserveSlot(context)).not.toBeNull();
  });
});
