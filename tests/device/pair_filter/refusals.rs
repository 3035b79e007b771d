use super::*;
use gpu_broad_phase::Queries;

#[test]
fn the_reference_takes_a_function_and_the_text_is_for_devices() {
    let objects = random_scene(&mut Rng(95), 200, 0).objects;
    let scene = Scene {
        objects: Source::Host(&objects),
        ..Default::default()
    };
    let descriptor = BroadPhaseDescriptor {
        pair_filter: Some("fn admits_pair(a: u32, b: u32) -> bool { return false; }"),
        ..Default::default()
    };
    assert_eq!(
        cpu::step_scene(&descriptor, &scene).unwrap_err(),
        BroadPhaseError::PairFilterOnCpu
    );
    let all = cpu::step_scene_where(&descriptor, &scene, &|_, _| true).unwrap();
    assert_eq!(
        sorted(all.pairs),
        brute_force::scene_pairs(&descriptor, &scene).unwrap()
    );
    let mut kept = cpu::CpuBroadPhase::new(&descriptor).unwrap();
    kept.step_scene_where(&scene, &|_, _| true).unwrap();
    let partners = QueryInput {
        queries: Queries::Objects(SelfQuery::Overlaps { half: false }),
        ..QueryInput::default()
    };
    assert_eq!(kept.query(&partners).unwrap_err(), BroadPhaseError::PairFilterOnCpu);
    let none = cpu::step_scene_where(&descriptor, &scene, &|_, _| false).unwrap();
    assert_eq!((none.pairs.len(), none.counters.pairs_needed), (0, 0));
    let without_pairs = BroadPhaseDescriptor {
        pairs: false,
        ..descriptor
    };
    let overlaps = Scene {
        query: QueryInput {
            queries: partners.queries,
            ..scene.query
        },
        ..scene
    };
    assert_eq!(
        cpu::step_scene(&without_pairs, &overlaps).unwrap_err(),
        BroadPhaseError::PairFilterOnCpu
    );
    assert!(cpu::step_scene(&without_pairs, &scene).is_ok());
    // The CPU engine also reports errors that need no compiler.
    let descriptor = BroadPhaseDescriptor {
        pair_filter: Some("fn f() {}"),
        ..Default::default()
    };
    let error = cpu::step_scene(&descriptor, &scene).unwrap_err();
    let name = PairFilterError::Name {
        line: 1,
        name: "f".to_owned(),
    };
    assert_eq!(error, BroadPhaseError::Descriptor(DescriptorError::PairFilter(name)));
}

#[test]
fn texts_that_cannot_be_used_are_refused_with_their_line() {
    for adapter in daily_adapters() {
        let refused = |text: &str| {
            let descriptor = BroadPhaseDescriptor {
                pair_filter: Some(text),
                ..Default::default()
            };
            match GpuBroadPhase::new(&adapter.device, &adapter.queue, &descriptor) {
                Err(CreateError::Descriptor(DescriptorError::PairFilter(error))) => error,
                Err(error) => panic!("{text}: {error}"),
                Ok(_) => panic!("{text} is taken"),
            }
        };
        // Errors in the third line. Some texts use names of the passes.
        for text in [
            "// One.\nfn admits_pair(a: u32, b: u32) -> bool {\n    return a + nothing < b;\n}",
            "// One.\n\nconst admits_most: u32 = -1;\nfn admits_pair(a: u32, b: u32) -> bool { return a < b; }",
            "fn admits_pair(a: u32, b: u32) -> bool {\n// Zwölf.\nreturn a + b; }",
            "fn admits_pair(a: u32, b: u32) -> bool {\n\n return objects[a].x < b; }",
            "fn admits_pair(a: u32, b: u32) -> bool {\n\n return params.object_count < b; }",
            "fn admits_it() {}\nfn admits_pair(a: u32, b: u32) -> bool { return true; }\nfn admits_it() {}",
            "fn admits_pair(a: u32, b: u32) -> bool {\n\n return pair_data(a, b) == 0u; }",
        ] {
            let error = refused(text);
            let PairFilterError::Compile { line, message } = &error else {
                panic!("{text}: {error:?}");
            };
            assert_eq!(*line, 3, "{text}: {message}");
            assert!(error.to_string().starts_with("line 3: "), "{error}");
        }
        assert_eq!(refused("// Nothing."), PairFilterError::Missing);
        for text in [
            "fn admits_pair(a: u32) -> bool { return a > 0u; }",
            "fn admits_pair(a: i32, b: i32) -> bool { return a < b; }",
            "fn admits_pair(a: u32, b: u32) -> u32 { return a + b; }",
            "fn admits_pair(a: u32, b: u32) {}",
            "fn admits_pair(a: vec2<u32>) -> bool { return a.x < a.y; }",
        ] {
            let error = refused(text);
            assert!(matches!(error, PairFilterError::Signature { .. }), "{text}: {error:?}");
        }
        let text =
            "fn admits_pair(a: u32, b: u32) -> bool { return a < b; }\n@group(0) @binding(3) var<uniform> b: u32;";
        assert_eq!(refused(text), PairFilterError::Declares { line: 2, what: "@" });
        let mut on_gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let objects = [Aabb::new([0.0; 3], [1.0; 3]); 2];
        let input = Scene {
            objects: Source::Host(&objects),
            ..Default::default()
        };
        assert_eq!(whole(&adapter, &mut on_gpu, input).pairs, [Pair { a: 0, b: 1 }]);
    }
}

#[test]
fn buffers_that_cannot_be_read_are_refused() {
    let objects = [Aabb::new([0.0; 3], [1.0; 3]); 2];
    for adapter in daily_adapters() {
        let descriptor = BroadPhaseDescriptor {
            pair_filter: Some(WORDS),
            ..Default::default()
        };
        let mut on_gpu = broad_phase(&adapter, &descriptor);
        let plain = Scene {
            objects: Source::Host(&objects),
            ..Default::default()
        };
        submit(&adapter, &mut on_gpu, plain);
        let before = read(&mut on_gpu);
        let short = upload(&adapter, &[0u32; 5], wgpu::BufferUsages::STORAGE);
        let other = upload(&adapter, &[0u32; 16], wgpu::BufferUsages::COPY_DST);
        let list = |buffer, count| Scene {
            excluded_pairs: Source::device(buffer, count),
            ..plain
        };
        let data = |buffer, count| Scene {
            pair_filter_data: Source::device(buffer, count),
            ..plain
        };
        let too_small = |what, needed| InputError::BufferTooSmall {
            what,
            needed,
            available: 20,
        };
        for (input, expected) in [
            (list(&short, 3), too_small("excluded pairs", 24)),
            (data(&short, 6), too_small("data of the pair filter", 24)),
            (list(&other, 1), InputError::Usage { what: "excluded pairs" }),
            (
                data(&other, 1),
                InputError::Usage {
                    what: "data of the pair filter",
                },
            ),
        ] {
            let error = on_gpu.step(&mut encoder(&adapter), input).map(|_| ()).unwrap_err();
            assert_eq!(error, StepError::Input(expected));
        }
        assert_eq!(read(&mut on_gpu).pairs, before.pairs);
        submit(&adapter, &mut on_gpu, list(&short, 2));
        assert_eq!(read(&mut on_gpu).pairs, before.pairs);
    }
}

#[test]
fn functions_that_wait_for_other_invocations_are_refused_by_name() {
    for adapter in daily_adapters() {
        for name in [
            "workgroupBarrier",
            "storageBarrier",
            "textureBarrier",
            "subgroupBarrier",
        ] {
            let text = format!("fn admits_pair(a: u32, b: u32) -> bool {{\n    {name}();\n    return true;\n}}");
            let descriptor = BroadPhaseDescriptor {
                pair_filter: Some(&text),
                ..Default::default()
            };
            let made = GpuBroadPhase::new(&adapter.device, &adapter.queue, &descriptor);
            let (line, name) = (2, name.to_owned());
            let told = CreateError::Descriptor(DescriptorError::PairFilter(PairFilterError::Calls { line, name }));
            assert_eq!(made.err(), Some(told), "{}", adapter.name);
            let mut plain = broad_phase(&adapter, &BroadPhaseDescriptor::default());
            assert!(plain.set_descriptor(&descriptor).is_err(), "{}", adapter.name);
        }
    }
}
