// SPDX-License-Identifier: Apache-2.0
// Schedules in C++.
#ifndef BRAID_CPP_SCHEDULE_HPP
#define BRAID_CPP_SCHEDULE_HPP

#include <braid/cpp/result.hpp>
#include <braid/schedule.h>
#include <braid/timeline.h>

#include <array>
#include <cstdint>
#include <memory>

namespace braid
{

// A plan, which never changes; copies are the same one.
template <class Errors> class basic_schedule
{
    template <class T> using result = typename Errors::template result<T>;

  public:
    static result<basic_schedule> plan(const braid_graph *graph,
                                       const braid_schedule_options &options)
    {
        braid_schedule *schedule = nullptr;
        braid_status status = braid_schedule_create(graph, &options, &schedule);
        return Errors::template from<basic_schedule>(status, [&] { return own(schedule); });
    }
    // A schedule that somebody else destroys, after the last use of this object and its copies.
    static basic_schedule lent(const braid_schedule *schedule)
    {
        return basic_schedule({ schedule, [](const braid_schedule *) {} });
    }
    static result<basic_schedule> load(const braid_graph *graph, const char *path)
    {
        braid_schedule *schedule = nullptr;
        braid_status status = braid_schedule_load(graph, path, &schedule);
        return Errors::template from<basic_schedule>(status, [&] { return own(schedule); });
    }
    result<void> save(const braid_graph *graph, const char *path) const
    {
        return Errors::template from<void>(braid_schedule_save(get(), graph, path), [] {});
    }
    result<void> verify(const braid_graph *graph) const
    {
        return Errors::template from<void>(braid_schedule_verify(get(), graph), [] {});
    }
    braid_schedule_info info() const
    {
        braid_schedule_info info;
        braid_schedule_get_info(get(), &info);
        return info;
    }
    view<const braid_step> steps() const
    {
        const braid_schedule_info found = info();
        return { found.steps, found.num_steps };
    }
    view<const std::uint32_t> critical_path() const
    {
        const braid_schedule_info found = info();
        return { found.critical_path, found.num_critical };
    }
    template <class... Nodes> result<std::string> explain(Nodes... nodes) const
    {
        const std::array<braid_node, sizeof...(nodes)> list = { nodes... };
        return detail::whole_text<Errors>([this, &list](char *text, std::size_t size) {
            return braid_schedule_explain(get(), list.data(), list.size(), text, size);
        });
    }
    result<braid_placement> placement(braid_node node) const
    {
        braid_placement place = {};
        braid_status status = braid_schedule_get_placement(get(), node, &place);
        return Errors::template from<braid_placement>(status, [&] { return place; });
    }
    view<const braid_planned_copy> copies() const
    {
        const braid_schedule_info found = info();
        return { found.copies, found.num_copies };
    }
    view<const braid_serialisation> serialisations() const
    {
        const braid_schedule_info found = info();
        return { found.serialisations, found.num_serialisations };
    }
    result<void> write(braid_drawing drawing, std::FILE *file,
                       const braid_timeline_options &options = {}) const
    {
        return Errors::template from<void>(braid_schedule_write(get(), drawing, &options, file),
                                           [] {});
    }

    const braid_schedule *get() const noexcept
    {
        return schedule_.get();
    }
    operator const braid_schedule *() const noexcept
    {
        return get();
    }

  private:
    static basic_schedule own(braid_schedule *schedule)
    {
        return basic_schedule({ schedule, braid_schedule_destroy });
    }
    explicit basic_schedule(std::shared_ptr<const braid_schedule> schedule) noexcept
        : schedule_(std::move(schedule))
    {
    }
    std::shared_ptr<const braid_schedule> schedule_;
};

} // namespace braid

#endif
