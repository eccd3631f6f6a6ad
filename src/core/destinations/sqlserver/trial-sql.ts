import type { Values } from './driver/session.ts';
import type { SqlServerFields } from './fields.ts';
import { blamesRowSql } from './row-errors.ts';
import { reasonLengthMax, rowsTable } from './staging.ts';
import { claimedSql, rowsSql, variablesSql } from './write-sql.ts';

/** Milliseconds after which a request of trials responds, to be continued: far below the limit of a statement. */
const trialsMs = 5000;

export interface TrialSteps extends SqlServerFields {
  readonly opensGeneration: boolean;
}

export interface Search {
  /** The rows before it are decided. */
  readonly decided: number;
  /** Rows that the next trial adds. */
  readonly nextStep: number;
  /** A trial of the rows before it has failed; 0 if none has since the last row was refused. */
  readonly failedUpto: number;
  /** The place after the row that was refused last; 0 if none was. */
  readonly lastRefused: number;
}

export const newSearch = (count: number): Search => ({ decided: 0, nextStep: count, failedUpto: 0, lastRefused: 0 });

export const searchValues = ({ decided, nextStep, failedUpto, lastRefused }: Search): Values => ({
  decided,
  next_step: nextStep,
  failed_upto: failedUpto,
  last_refused: lastRefused,
});

/**
 * Marks the rows that the server refuses with its error. A trial is the transaction of a batch over the rows before a place, and
 * is always rolled back. Each row is tried after all rows that the server takes, so rows that clash only with each other are
 * found too. The search halves what failed and doubles what passed, starting from the distance of the last two refused rows. A
 * duplicate key counts first as a lost race.
 *
 * Returns one row: the current {@link Search}, and the outcome of the last trial, `refused` or as {@link batchSql} says. An error
 * that no row causes is the error of the request.
 */
export const trialsSql = ({ prepared, writers, opensGeneration }: TrialSteps): string => `
  declare @outcome nvarchar(10) = N'written';
  ${variablesSql}
  declare @from int = @decided;
  declare @last int = @last_refused;
  declare @step int = @next_step;
  declare @bad int = @failed_upto;
  declare @upto int = 0;
  declare @raced int = 0;
  declare @number int = 0;
  declare @reason nvarchar(${reasonLengthMax}) = N'';
  declare @until datetime2(3) = dateadd(millisecond, ${trialsMs}, sysutcdatetime());
  while @from < @count and @outcome in (N'written', N'refused') and sysutcdatetime() < @until
  begin
    set @upto = case when @count - @from > @step then @from + @step else @count end;
    set @outcome = N'lost';
    begin try
      begin transaction;
      ${claimedSql({ prepared, opensGeneration }, [rowsSql({ prepared, writers })])}
      rollback transaction;
    end try
    begin catch
      set @number = error_number();
      set @reason = left(error_message(), ${reasonLengthMax});
      if @@trancount > 0 rollback transaction;
      if not ${blamesRowSql('@number')}
      begin;
        throw;
      end;
      set @outcome = N'refused';
    end catch;
    if @outcome = N'written'
    begin
      set @from = @upto;
      set @raced = 0;
      set @step = case when @bad > @from + 1 then (@bad - @from) / 2 when @bad > @from then 1 else @step * 2 end;
    end;
    if @outcome = N'refused' and @upto - @from > 1
    begin
      set @bad = @upto;
      set @step = (@upto - @from) / 2;
    end
    else if @outcome = N'refused' and @raced = 0 and @number in (2601, 2627) set @raced = 1;
    else if @outcome = N'refused'
    begin
      update ${rowsTable} set issue = @number, reason = @reason where n = @from;
      set @from = @from + 1;
      set @raced = 0;
      set @bad = 0;
      set @step = @from - @last;
      set @last = @from;
    end;
  end;
  select @outcome as outcome, @from as decided, @step as next_step, @bad as failed_upto, @last as last_refused;`;
